import type { Claim } from '../domain/claim.ts';
import type { Clock } from '../domain/clock.ts';
import { HeldBack } from '../domain/quota-errors.ts';
import { PAID_MAX } from '../domain/quota-limits.ts';
import type { Batch } from '../domain/record.ts';
import { ANYBODY } from '../domain/rights.ts';
import type { Topic } from '../domain/topic.ts';
import type { AppendRequest } from './partition-append.ts';
import type { Quotas } from './spend-quota.ts';
import type { GroupLags } from './topic-lag.ts';

export interface AdmissionPorts {
  readonly quotas: Pick<Quotas, 'pay'>;
  readonly groupLags: Pick<GroupLags, 'refuseBehind'>;
  readonly claims: { read(topicId: string, key: string, now: number): Promise<Claim | undefined> };
  readonly clock: Clock;
}

/** Lets appends in as their topic allows. Where it sets no bounds that is no call and no write. */
export class Admission {
  readonly #ports: AdmissionPorts;
  /** Requests with a key that have paid: their repeats need not. */
  readonly #paid = new Set<string>();

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
  }

  /** Before anything is reserved. @throws {HeldBack} nothing was stored */
  async admit(
    topic: Topic,
    batches: ReadonlyMap<number, Batch>,
    { once, caller = ANYBODY.principal }: Pick<AppendRequest, 'once' | 'caller'>,
  ): Promise<void> {
    const { quota, maxLag } = topic;
    if (quota === undefined && maxLag === undefined) return;
    const paid = once && `${topic.id}#${once.key}#${once.fingerprint}`;
    if (paid !== undefined && this.#paid.has(paid)) return;
    try {
      if (maxLag !== undefined) await this.#ports.groupLags.refuseBehind(topic, maxLag);
      await this.#ports.quotas.pay(topic, loadOf(batches), caller);
    } catch (error) {
      if (!(error instanceof HeldBack && (await this.#isRepeat(topic, once)))) throw error;
    }
    if (paid !== undefined) this.#remember(paid);
  }

  /** What was let in before, by whatever container, is let in again: its records may be stored already, in part. */
  async #isRepeat(topic: Topic, once: AppendRequest['once']): Promise<boolean> {
    if (once === undefined) return false;
    const { claims, clock } = this.#ports;
    return (await claims.read(topic.id, once.key, clock.now()))?.fingerprint === once.fingerprint;
  }

  #remember(paid: string): void {
    this.#paid.add(paid);
    if (this.#paid.size > PAID_MAX) this.#paid.delete(this.#paid.values().next().value!);
  }
}

function loadOf(batches: ReadonlyMap<number, Batch>): { readonly bytes: number; readonly records: number } {
  let [bytes, records] = [0, 0];
  for (const batch of batches.values()) [bytes, records] = [bytes + batch.bytes.length, records + batch.count];
  return { bytes, records };
}
