import { BackboneError } from '../../shared/domain/errors.ts';
import { RETENTION_FOREVER } from '../../shared/domain/limits.ts';
import type { AppendResult } from '../../shared/operations/partition-append.ts';
import type { Coverage } from './coverage.ts';
import type { AppendCall, AppendPart, BoundsCall, History, PayloadRead, ReadCall, TopicCall } from './history.ts';
import type { Told, World } from './simulator/world.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Collects what callers see while a simulated world runs. */
export class Recorder {
  readonly appends: AppendCall[] = [];
  readonly reads: ReadCall[] = [];
  readonly bounds: BoundsCall[] = [];
  readonly topics: TopicCall[] = [];
  readonly payloads: PayloadRead[] = [];
  /** What was announced and sent, by upload id. */
  readonly announced = new Map<string, string>();
  /** Shortest retention that an incarnation ever had, ms; absent: only for ever. */
  readonly shortest = new Map<string, number>();
  readonly #world: World;
  readonly #coverage: Coverage;

  constructor(world: World) {
    this.#world = world;
    this.#coverage = world.coverage;
  }

  retained(topicId: string, retentionMs: number): void {
    if (retentionMs === RETENTION_FOREVER) return;
    this.shortest.set(topicId, Math.min(retentionMs, this.shortest.get(topicId) ?? Number.POSITIVE_INFINITY));
  }

  /** Notes an append from its beginning on. @returns what to call with what its caller was told */
  append(
    call: Pick<AppendCall, 'topic' | 'records' | 'uploads' | 'once'>,
    layOut: (result: AppendResult) => ReadonlyMap<number, readonly string[]>,
  ): (told: Told<AppendResult>) => void {
    const noted: Writable<AppendCall> = { ...call, begin: this.#world.now };
    this.appends.push(noted);
    return (told) => {
      if (told === 'nothing') return this.#coverage.count('no answer');
      noted.end = this.#world.now;
      if ('error' in told) {
        noted.answer = { error: codeOf(told.error) };
        this.#refused(noted.answer.error);
        return;
      }
      const records = layOut(told.answer);
      const parts = told.answer.outcomes.map((outcome): AppendPart => {
        const { partition } = outcome;
        const part = { partition, records: records.get(partition) ?? [] };
        if ('error' in outcome) return { ...part, error: codeOf(outcome.error) };
        return { ...part, base: outcome.baseOffset, at: outcome.appendedAt };
      });
      noted.answer = { duplicate: told.answer.duplicate, parts };
      const failed = parts.some((part) => 'error' in part);
      this.#coverage.count(failed ? 'stored in part' : told.answer.duplicate ? 'duplicate' : 'stored');
    };
  }

  topic(topic: string): (answer: { made?: string; deleted?: boolean }) => void {
    const noted: Writable<TopicCall> = { topic, begin: this.#world.now };
    this.topics.push(noted);
    return (answer) => Object.assign(noted, answer, { end: this.#world.now });
  }

  /** @param toleranceMs by which clocks may differ */
  history(toleranceMs: number): History {
    const { appends, reads, bounds, topics, payloads } = this;
    const stored = this.#world.mirror.slots
      .filter(({ records }) => records.length > 0)
      .map(({ topicId, partition, base, records, uploads, at, storedAt }) => {
        const shortest = this.shortest.get(topicId);
        const goneFrom = shortest === undefined ? {} : { goneFrom: at + shortest - toleranceMs };
        return { topicId, partition, base, records, ...(uploads && { uploads }), storedAt, ...goneFrom };
      });
    return { appends, reads, bounds, topics, stored, payloads };
  }

  #refused(code: string): void {
    if (code === 'throttled') this.#coverage.count('refused: throttled');
    if (code === 'unavailable') this.#coverage.count('refused: unavailable');
    if (code === 'topic_not_found') this.#coverage.count('refused: topic not found');
    if (code === 'upload_invalid') this.#coverage.count('refused: upload invalid');
    if (code === 'idempotency_in_progress') this.#coverage.count('in progress');
    if (code === 'idempotency_key_reused') this.#coverage.count('key reused');
    if (code === 'outcome_unknown') this.#coverage.count('outcome unknown');
  }
}

/** A refusal's public code; anything else is told with its words, because it must not happen. */
export function codeOf(error: unknown): string {
  if (error instanceof BackboneError && error.code !== 'internal') return error.code;
  return error instanceof Error ? `internal: ${error.name}: ${error.message}` : `internal: ${String(error)}`;
}
