import type { Removal } from '../../shared/domain/removal.ts';
import { followRemovals } from '../../shared/operations/follow-removals.ts';
import { batchObjectKey, parseLogItemKey } from '../../shared/store/keys.ts';
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

  /** Once all are finished: a payload for every slot that names one, and none for anybody else. */
  judge(): Violation[] {
    const { mirror, objects } = this.#run.world;
    const named = new Set(
      mirror.slots
        .filter((slot) => slot.spilled && slot.removedAt === undefined)
        .map((slot) => batchObjectKey(slot, slot.last)),
    );
    const dangling = [...named].filter((key) => !objects.has(key));
    const orphans = [...objects].filter((key) => !named.has(key));
    return [
      ...dangling.map((key): Violation => ({ kind: 'lost payload', what: key })),
      ...orphans.map((key): Violation => ({ kind: 'orphan', what: key })),
    ];
  }
}
