import type { Claim, Placement } from '../domain/claim.ts';
import { OutcomeUnknown } from '../domain/errors.ts';
import type { Reservation } from '../domain/slot.ts';
import type { Topic } from '../domain/topic.ts';
import type { WakeUp } from '../domain/wake-up.ts';
import { ClaimedAppend } from './claimed-append.ts';
import {
  type AppendRequest,
  type AppendResult,
  appendsOf,
  outcomesOf,
  type PartitionAppend,
  type PartitionOutcome,
} from './partition-append.ts';
import { abandonAll, type RequestPorts, reserveAll, startingOver } from './reserve-append.ts';

/**
 * Appends one batch to each partition that the request names. Every partition is reserved before the first is filled,
 * so a request that cannot be reserved as a whole stores nothing. Two sequential round trips, three with a key.
 *
 * @throws {BackboneError} when no partition was stored: `HeldBack`, `Throttled` and `Unavailable` say so, `OutcomeUnknown` does not
 */
export async function appendBatches(ports: RequestPorts, request: AppendRequest): Promise<AppendResult> {
  return startingOver(ports, request, async ({ topic, placement, build }) => {
    const batches = build(placement);
    await ports.admission?.admit(topic, batches, request);
    const appends = appendsOf(ports, topic, batches);
    const claimed = request.once && new ClaimedAppend(ports, topic, request.once, build);
    const { found, reservations } = await findBeside(
      claimed?.find() ?? Promise.resolve(undefined),
      reserveAll(appends, topic),
      appends,
    );
    if (reservations === undefined) return undefined;
    const doorbell = topic.subscribed ? ports.doorbell : undefined;
    const noted = doorbell?.note(appends.map(({ partition }) => ({ topicId: topic.id, partition })));
    try {
      const result =
        claimed === undefined
          ? await fillAll(appends, reservations, placement)
          : await claimed.run(appends, reservations, placement, found);
      refuseWhenNothingIsStored(result.outcomes);
      await doorbell?.ring(wakeUpsOf(topic, appends, result));
      return result;
    } finally {
      await noted;
    }
  });
}

/** One for each partition in which something was stored. */
function wakeUpsOf(topic: Topic, appends: readonly PartitionAppend[], { outcomes }: AppendResult): WakeUp[] {
  const counts = new Map(appends.map(({ partition, batch }) => [partition, batch.count]));
  return outcomes.flatMap((outcome) => {
    if ('error' in outcome) return [];
    const { partition, baseOffset } = outcome;
    return [{ topicId: topic.id, partition, last: baseOffset + (counts.get(partition) ?? 1) - 1, hop: 0 }];
  });
}

async function fillAll(
  appends: readonly PartitionAppend[],
  reservations: readonly Reservation[],
  placement: Placement,
): Promise<AppendResult> {
  const outcomes = await outcomesOf(appends, ({ slot, batch }, i) => slot.fill(reservations[i]!, batch));
  return { placement, outcomes, duplicate: false };
}

/** Finds the claim while the reservations are made. If it cannot be read, they are given up. */
async function findBeside(
  finding: Promise<Claim | undefined>,
  reserving: Promise<Reservation[] | undefined>,
  appends: readonly PartitionAppend[],
): Promise<{ readonly found: Claim | undefined; readonly reservations: Reservation[] | undefined }> {
  const [claim, reserved] = await Promise.allSettled([finding, reserving]);
  if (reserved.status === 'rejected') throw reserved.reason;
  if (claim.status === 'fulfilled') return { found: claim.value, reservations: reserved.value };
  await abandonAll(appends, reserved.value ?? []);
  throw claim.reason;
}

/** Nothing known to be stored is a refusal of the whole; one unknown outcome makes the whole unknown. */
function refuseWhenNothingIsStored(outcomes: readonly PartitionOutcome[]): void {
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
  if (errors.length < outcomes.length) return;
  throw errors.find((error) => error instanceof OutcomeUnknown) ?? errors[0]!;
}
