import { SWEEP_ITEMS_MAX, SWEEP_LEASE_MS, SWEEP_TURN_ITEMS } from '../domain/limits.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import { dueGroupPurges, type GroupPurgePorts } from './purge-groups.ts';
import { duePurges, type PurgePorts } from './purge-topics.ts';
import { type MayGoOn, takeTurns } from './take-turns.ts';

export interface SweepPorts extends PurgePorts, GroupPurgePorts {
  readonly topicItems: PurgePorts['topicItems'] & GroupPurgePorts['topicItems'];
  readonly lease: {
    take(token: string, until: number, now: number): Promise<boolean>;
    renew(token: string, until: number): Promise<boolean>;
    release(token: string): Promise<void>;
  };
  /** Another one for each run. */
  newToken(): string;
}

/**
 * Looks after what nobody waits for. A run that finds nothing due costs one look per duty and writes nothing; one that
 * does excludes others, and what it cannot finish by `stopAt` (epoch ms) the next one takes up. The lease saves work
 * alone: every step may be done twice.
 *
 * @returns what kept single tasks from being finished: the store's refusals, and bugs
 */
export async function sweep(ports: SweepPorts, stopAt: number): Promise<unknown[]> {
  const { closings, purges: ofTopics } = await duePurges(ports);
  const purges = [...ofTopics, ...(await dueGroupPurges(ports))];
  if (closings.length === 0 && purges.length === 0) return [];
  const token = ports.newToken();
  const now = ports.clock.now();
  if (!(await ports.lease.take(token, now + SWEEP_LEASE_MS, now))) return [];
  const failures: unknown[] = [];
  const mayGoOn = allowance(ports, token, now + SWEEP_LEASE_MS, stopAt);
  // Few and quick, and until then appends may go on: none waits for a purge.
  for (const close of closings) {
    if (!(await mayGoOn())) break;
    await close(mayGoOn).catch((error: unknown) => failures.push(error));
  }
  failures.push(...(await takeTurns(purges, mayGoOn, SWEEP_TURN_ITEMS)));
  await ports.lease.release(token).catch((error: unknown) => failures.push(error)); // it ends by itself
  return failures;
}

/** Says yes while there is time, items are left and the lease is held; it is renewed at half its time. */
function allowance({ lease, clock }: SweepPorts, token: string, until: number, stopAt: number): MayGoOn {
  let heldUntil = until;
  let itemsLeft = SWEEP_ITEMS_MAX;
  let lost = false;
  let renewing: Promise<void> | undefined;
  const renew = async (next: number): Promise<void> => {
    try {
      if (await lease.renew(token, next)) heldUntil = next;
      else lost = true;
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error; // there is half a lease left to try again
    } finally {
      renewing = undefined;
    }
  };
  return async (items = 0) => {
    const now = clock.now();
    if (lost || now >= stopAt || itemsLeft <= 0) return false;
    if (heldUntil - now < SWEEP_LEASE_MS / 2) {
      renewing ??= renew(now + SWEEP_LEASE_MS);
      await renewing;
    }
    itemsLeft -= items;
    return !lost && clock.now() < heldUntil;
  };
}
