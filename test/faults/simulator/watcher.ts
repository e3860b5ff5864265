import { STORE_ATTEMPT_TIMEOUT_MS } from '../../../shared/domain/limits.ts';
import type { Observation } from '../../../shared/domain/observation.ts';
import { uploadLogKey } from '../../../shared/store/keys.ts';
import type { Coverage } from '../coverage.ts';
import type { Host } from './host.ts';
import type { Change, Outcome } from './tables.ts';

type Value = { readonly N?: string; readonly S?: string; readonly B?: Uint8Array; readonly BOOL?: boolean };
type Values = Readonly<Record<string, Value>>;

interface Input {
  readonly Item?: Values;
  readonly Key?: Values;
  readonly UpdateExpression?: string;
  readonly ExpressionAttributeValues?: Values;
}

/** Tells from what arrives at the services, and from what operations observe, which situations a run has met. */
export class Watcher {
  readonly #coverage: Coverage;
  /** The single offset that a host has voided last, by log. */
  readonly #lastVoid = new Map<string, number>();
  /** Ids of the uploads that were announced. */
  readonly #noted = new Set<string>();

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
  }

  observed({ kind }: Observation): void {
    if (kind === 'append_fenced') this.#coverage.count('writer fenced');
    if (kind === 'topic_purged') this.#coverage.count('topic purged');
    if (kind === 'group_purged') this.#coverage.count('group purged');
    if (kind === 'append_late') this.#coverage.count('fill given up');
  }

  changed({ before, after }: Change): void {
    const replaced = before?.claim !== undefined && after?.claim !== undefined;
    if (replaced && before.expiresAt?.N !== after.expiresAt?.N) this.#coverage.count('expired claim replaced');
    if ((before ?? after)?.usableUntil === undefined) return;
    if (before === undefined) {
      this.#noted.add(after!.sk!.S!);
      this.#coverage.count('upload announced');
    } else if (after === undefined) this.#coverage.count('upload forgotten');
    else if (before.usedBy === undefined) this.#coverage.count('upload taken');
    else if (before.usedBy.S === after.usedBy?.S) this.#coverage.count('own upload recognised');
    else this.#coverage.count('upload taken from a void');
  }

  /** @param ageMs since the attempt was signed */
  arrived(host: Host, operation: string, input: object, outcome: Outcome, ageMs: number): void {
    if (ageMs > STORE_ATTEMPT_TIMEOUT_MS) this.#coverage.count('landed after its caller had given up');
    if (ageMs > 60_000) this.#coverage.count('landed minutes late');
    const { Item, Key, UpdateExpression = '', ExpressionAttributeValues: values } = input as Input;
    const met = 'error' in outcome ? (outcome.error as Error & { Item?: Values }).Item : undefined;
    const refused = 'error' in outcome && outcome.error.name === 'ConditionalCheckFailedException';
    if (operation === 'PutObject') this.#coverage.count('batch spilled');
    if (operation === 'DeleteObjects' || operation === 'DeleteObject') this.#coverage.count('payload removed');
    const [, watched] = Item?.log?.S?.split(uploadLogKey({ topicId: '', uploadId: '' })) ?? [];
    if (watched !== undefined && this.#noted.has(watched)) this.#coverage.count('upload kept for its record');
    if (Item?.void?.BOOL === true) this.#void(host, Item, refused, met);
    else if (Item?.append !== undefined && refused && same(met?.append, Item.append)) {
      this.#coverage.count('own slot recognised');
    } else if (Item?.claim !== undefined) {
      if (refused && same(met?.claim, Item.claim)) this.#coverage.count('own claim recognised');
    } else if (UpdateExpression.startsWith('SET claim')) {
      if (!refused) this.#coverage.count('claim moved');
      else if (!same(met?.claim, values?.[':to'])) this.#coverage.count('claim move lost');
    } else if (UpdateExpression.startsWith('SET usedBy')) {
      if (refused && met !== undefined) this.#coverage.count('upload met another use');
    } else if (UpdateExpression.startsWith('SET #next') && refused) {
      const own =
        met !== undefined &&
        Object.entries(met).some(([name, value]) => /^r\d$/.test(name) && begins(value, values?.[':id']));
      this.#coverage.count(own ? 'own reservation recognised' : 'closed head met');
    } else if (UpdateExpression.startsWith('SET settled') && !refused && Key !== undefined) {
      this.#coverage.count('settled moved');
    }
  }

  #void(host: Host, item: Values, refused: boolean, met: Values | undefined): void {
    if (!refused) this.#coverage.count('void put');
    else this.#coverage.count(met?.void?.BOOL === true ? 'void met a void' : 'void met a batch');
    // Two single offsets, one below the other, of which nothing was known before: offset by offset, downwards.
    const name = `${host.name} ${item.log?.S}`;
    const last = Number(item.last?.N);
    const unknown = item.count?.N === '1' && item.previous?.B?.length === 0;
    if (unknown && this.#lastVoid.get(name) === last + 1) this.#coverage.count('unknown range');
    if (unknown) this.#lastVoid.set(name, last);
    else this.#lastVoid.delete(name);
  }
}

function same(a: Value | undefined, b: Value | undefined): boolean {
  return a?.B !== undefined && b?.B !== undefined && Buffer.from(a.B).equals(Buffer.from(b.B));
}

function begins(a: Value, b: Value | undefined): boolean {
  return a.B !== undefined && b?.B !== undefined && Buffer.from(a.B).subarray(0, b.B.length).equals(Buffer.from(b.B));
}
