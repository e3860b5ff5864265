import type { Removal } from '../../shared/domain/removal.ts';
import { followRemovals } from '../../shared/operations/follow-removals.ts';
import { batchObjectKey, parseLogItemKey, uploadObjectKey, uploadsKey } from '../../shared/store/keys.ts';
import type { Violation } from './history.ts';
import type { Run } from './run.ts';
import type { Change } from './simulator/tables.ts';

const CALL_MS = 20_000;

/** Follows what goes from the log, as `dispatch` does: some time later, in no order, and again until it is finished. */
export class Follower {
  /** Removals that are not finished. */
  pending = 0;
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }

  take({ table, before, after }: Change): void {
    if (table !== 'log' || before === undefined || after !== undefined) return;
    const key = parseLogItemKey(before.log!.S!, Number(before.last!.N));
    this.pending += 1;
    this.#later({ ...key, expired: this.#run.world.isExpiring });
  }

  #later(removal: Removal): void {
    const { world, random } = this.#run;
    world.scheduler.after(random.between(1, 5_000), '', () => void this.#follow(removal));
  }

  async #follow(removal: Removal): Promise<void> {
    const host = this.#run.anyHost();
    this.#run.harm(host);
    const told = await this.#run.world.call(host, () =>
      followRemovals(host.backbone, [removal], host.backbone.clock.now() + CALL_MS),
    );
    if (told !== 'nothing' && 'error' in told) this.#run.unexpected(told.error);
    const finished = told !== 'nothing' && 'answer' in told && told.answer.unfinished.length === 0;
    if (!finished) return this.#later(removal);
    this.pending -= 1;
    this.#run.world.coverage.count('removal followed');
  }

  /**
   * Once all are finished: a payload for every slot that names one, and none for anybody else; and nothing of an upload
   * is there, item or payload, but somebody will look after it.
   */
  async judge(): Promise<Violation[]> {
    const { mirror, objects } = this.#run.world;
    const slots = mirror.slots.filter((slot) => slot.removedAt === undefined);
    const named = new Set([
      ...slots.filter(({ spilled }) => spilled).map((slot) => batchObjectKey(slot, slot.last)),
      ...slots.flatMap(({ topicId, uploads = new Map() }) =>
        [...uploads.values()].map((uploadId) => uploadObjectKey({ topicId, uploadId })),
      ),
    ]);
    const { watched, noted } = await this.#uploads();
    const unwatched = [...noted].filter((key) => !watched.has(key));
    const dangling = [...named].filter((key) => !objects.has(key));
    const orphans = [...objects].filter((key) => !named.has(key));
    return [
      ...dangling.map((key): Violation => ({ kind: 'lost payload', what: key })),
      ...unwatched.map((key): Violation => ({ kind: 'left over', what: `${key} is watched by nobody` })),
      ...orphans.map((key): Violation => ({ kind: 'orphan', what: key })),
    ];
  }

  /** Object keys of the uploads that have a watch, and of those that have an item. */
  async #uploads(): Promise<{ readonly watched: ReadonlySet<string>; readonly noted: ReadonlySet<string> }> {
    const watched = new Set<string>();
    const noted = new Set<string>();
    for (const { table, item } of await this.#run.world.items()) {
      const key = table === 'log' ? parseLogItemKey(item.log!.S!, Number(item.last!.N)) : undefined;
      if (key?.kind === 'upload') watched.add(uploadObjectKey(key));
      if (item.usableUntil === undefined) continue;
      noted.add(uploadObjectKey({ topicId: item.pk!.S!.slice(uploadsKey('').length), uploadId: item.sk!.S! }));
    }
    return { watched, noted };
  }
}
