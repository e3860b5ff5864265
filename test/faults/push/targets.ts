import type { Delivered, DeliveryBatch } from '../../../shared/domain/delivery.ts';
import type { Host } from '../simulator/host.ts';
import { recordsOf } from '../simulator/mirror.ts';
import type { Mood } from './environments.ts';
import { OnceFunction } from './functions.ts';
import type { TargetCall } from './history.ts';
import type { PushRun } from './push-run.ts';
import { hashOf, keyOf } from './record-sink.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The longest that a target works on, though nobody waits any more. */
const HANGS_MS = 10 * 60_000;
const REFUSED = { name: 'Refused', message: 'not this one' };
const TIMEOUT: Delivered = { kind: 'failed', error: { name: 'timeout', message: 'no answer in time' } };

/** Where records are pushed to. In each mood it says something else. */
export class SimulatedTarget {
  readonly name: string;
  mood: Mood = 'good';
  readonly #run: PushRun;
  readonly #once: OnceFunction | undefined;
  /** Says which keys are poison. */
  readonly #salt: number;
  /** When each record was met that it does not take. */
  readonly #metAt = new Map<string, number>();

  constructor(run: PushRun, name: string) {
    this.#run = run;
    this.name = name;
    this.#once = run.environment.once ? new OnceFunction(run, name) : undefined;
    this.#salt = run.environment.poisonKeys > 0 ? run.random.between(0, 999) : 0;
  }

  /** Whatever processes it has end here. */
  end(): void {
    this.#once?.end();
  }

  /** One call from a host: it gets there, is worked on, and is answered, or the host waits no longer. */
  send(host: Host, batch: DeliveryBatch, timeoutMs: number, deadline: number): Promise<Delivered> {
    const { world, random } = this.#run;
    const { group, topicId, partition, epoch, lane } = batch;
    const records = batch.records.map(({ offset, value }) => ({ offset, record: recordsOf(value!)[0]! }));
    const redrives = batch.records[0]?.redrives;
    const call: Writable<TargetCall> = {
      ...{ name: group.name, groupId: group.id, topicId, partition, epoch, records, sentAt: world.now },
      ...(redrives !== undefined && { redrives }),
      ...(lane !== undefined && { lane }),
    };
    this.#run.seen.calls.push(call);
    world.scheduler.note(
      () => `${host.name} calls ${this.name} (${this.mood}): ${epoch} ${records[0]!.offset}+${records.length}`,
    );
    this.#run.harmInCall(host);
    return new Promise((resolve) => {
      let isOver = false;
      const tell = (told: Delivered) =>
        host.wake(() => {
          if (isOver) return;
          isOver = true;
          Object.assign(call, { told, toldAt: world.now });
          this.#run.count(told);
          resolve(told);
        });
      world.scheduler.after(Math.max(0, deadline - host.now()), '', () => tell(TIMEOUT));
      world.scheduler.after(random.between(1, 20), '', () => {
        call.begin = world.now;
        const { answer: meant, workMs } = this.#work(records, timeoutMs);
        const end = (answer: Delivered) => {
          call.end = world.now;
          world.scheduler.note(() => `${this.name} says ${answer.kind}`);
          if (!world.isCalm && random.chance(this.#run.environment.unanswered))
            return this.#run.saw('answer of a target lost');
          world.scheduler.after(random.between(1, 20), '', () => tell(answer));
        };
        call.isInTime = workMs < timeoutMs - 100;
        if (this.#once === undefined) return world.scheduler.after(workMs, '', () => end(meant));
        call.isInTime = false;
        void this.#process(this.#once, batch, meant, workMs).then((answer) => {
          if (isOver) this.#run.saw('function went on though it was given up');
          call.isInTime = world.now - call.begin! < timeoutMs - 100;
          if (answer !== undefined) end(answer);
        });
      });
    });
  }

  /** @returns what the delivery is told; undefined: nothing */
  async #process(
    once: OnceFunction,
    batch: DeliveryBatch,
    meant: Delivered,
    workMs: number,
  ): Promise<Delivered | undefined> {
    const poison = batch.records.find(({ value }) => this.#fails(recordsOf(value!)[0]!));
    const some = poison?.offset ?? this.#run.random.pick(batch.records).offset;
    const came = await once.call(batch, (offset) => offset < endOf(meant, some), workMs);
    if (came === 'done') return meant;
    if (came === 'died' && this.#run.random.chance(0.5)) return undefined;
    return { kind: 'failed', error: came === 'died' ? REFUSED : { name: came.name, message: came.message } };
  }

  #work(records: TargetCall['records'], timeoutMs: number): { readonly answer: Delivered; readonly workMs: number } {
    const { random } = this.#run;
    const workMs = random.between(1, 40);
    const error = REFUSED;
    const poison = records.find(({ record }) => this.#fails(record));
    const some = random.pick(records).offset;
    switch (this.mood) {
      case 'good':
        return { answer: { kind: 'done' }, workMs };
      case 'slow':
        return { answer: { kind: 'done' }, workMs: random.between(500, timeoutMs - 200) };
      case 'names':
        return { answer: poison ? { kind: 'failed', at: poison.offset, error } : { kind: 'done' }, workMs };
      case 'names none':
        return { answer: poison ? { kind: 'failed', error } : { kind: 'done' }, workMs };
      case 'broken':
        return { answer: { kind: 'failed', error }, workMs };
      case 'away':
        if (random.chance(0.2)) return { answer: { kind: 'away', at: some, error }, workMs };
        return { answer: { kind: 'away', ...(random.chance(0.5) && { retryAfterMs: 3_000 }), error }, workMs };
      case 'hangs':
        return { answer: { kind: 'done' }, workMs: random.between(timeoutMs, HANGS_MS) };
      case 'denied':
        return { answer: { kind: 'cannot', error }, workMs };
      case 'gone':
        return { answer: { kind: 'gone', error }, workMs };
      case 'part':
        return { answer: { kind: 'part', next: some + 1 }, workMs };
      case 'slow, and names':
        return {
          answer: poison ? { kind: 'failed', at: poison.offset, error } : { kind: 'done' },
          workMs: random.between(300, timeoutMs - 200),
        };
      case 'hangs at some':
        return { answer: { kind: 'done' }, workMs: poison ? random.between(timeoutMs, HANGS_MS) : workMs };
      case 'too large':
        return { answer: poison ? { kind: 'too_large', at: poison.offset } : { kind: 'done' }, workMs };
    }
  }

  /** It takes the record never, or not before some time. */
  isPoison(record: string): boolean {
    const { poison, poisonKeys, keys } = this.#run.environment;
    if (hashOf(`${this.name}${record}`) % 1_000 < poison * 1_000) return true;
    const key = keyOf(record, keys);
    return key !== null && hashOf(`${this.#salt} ${this.name} ${key}`) % 1_000 < poisonKeys * 1_000;
  }

  #fails(record: string): boolean {
    if (!this.isPoison(record)) return false;
    const { healsMs } = this.#run.environment;
    const { now } = this.#run.world;
    const metAt = this.#metAt.get(record) ?? now;
    this.#metAt.set(record, metAt);
    return healsMs.length === 0 || now < metAt + healsMs[hashOf(`${record} heals`) % healsMs.length]!;
  }
}

/** The offset before which a call is done that ends like this. @param some where it ends that names no record */
function endOf(meant: Delivered, some: number): number {
  if (meant.kind === 'done') return Number.POSITIVE_INFINITY;
  if (meant.kind === 'part') return meant.next;
  if ('at' in meant && meant.at !== undefined) return meant.at;
  return meant.kind === 'failed' ? some : 0;
}
