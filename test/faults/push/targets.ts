import type { Delivered, DeliveryBatch } from '../../../shared/domain/delivery.ts';
import type { Host } from '../simulator/host.ts';
import { recordsOf } from '../simulator/mirror.ts';
import type { Mood } from './environments.ts';
import type { TargetCall } from './history.ts';
import type { PushRun } from './push-run.ts';
import { hashOf } from './record-sink.ts';

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

  constructor(run: PushRun, name: string) {
    this.#run = run;
    this.name = name;
  }

  /** One call from a host: it gets there, is worked on, and is answered, or the host waits no longer. */
  send(host: Host, batch: DeliveryBatch, timeoutMs: number, deadline: number): Promise<Delivered> {
    const { world, random } = this.#run;
    const { group, topicId, partition, epoch } = batch;
    const records = batch.records.map(({ offset, value }) => ({ offset, record: recordsOf(value!)[0]! }));
    const redrives = batch.records[0]?.redrives;
    const call: Writable<TargetCall> = {
      ...{ name: group.name, groupId: group.id, topicId, partition, epoch, records, sentAt: world.now },
      ...(redrives !== undefined && { redrives }),
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
        const { answer, workMs } = this.#work(records, timeoutMs);
        call.isInTime = workMs < timeoutMs - 100;
        world.scheduler.after(workMs, '', () => {
          call.end = world.now;
          world.scheduler.note(() => `${this.name} says ${answer.kind}`);
          if (!world.isCalm && random.chance(this.#run.environment.unanswered))
            return this.#run.saw('answer of a target lost');
          world.scheduler.after(random.between(1, 20), '', () => tell(answer));
        });
      });
    });
  }

  #work(records: TargetCall['records'], timeoutMs: number): { readonly answer: Delivered; readonly workMs: number } {
    const { random } = this.#run;
    const workMs = random.between(1, 40);
    const error = REFUSED;
    const poison = records.find(({ record }) => this.#isPoison(record));
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
      case 'too large':
        return { answer: poison ? { kind: 'too_large', at: poison.offset } : { kind: 'done' }, workMs };
    }
  }

  #isPoison(record: string): boolean {
    return hashOf(`${this.name}${record}`) % 1_000 < this.#run.environment.poison * 1_000;
  }
}
