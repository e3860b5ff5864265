import type { Logger } from './connection.ts';
import type { TopicPartition } from './consumer-errors.ts';
import type { Emitter } from './consumer-events.ts';
import type { Changes } from './consumer-membership.ts';

/** Tells listeners, and the log where somebody should know, what an answer has changed. */
export function tellChanges(emitter: Emitter, logger: Logger, changes: Changes): void {
  const { assigned, revoked, lost, committed, refused, outOfRange, jumped, overtaken } = changes;
  if (assigned.length + revoked.length + lost.length > 0) {
    emitter.emit('rebalance', {
      assigned: assigned.map((held) => ({ ...placeOf(held), offset: held.processed })),
      revoked: revoked.map(placeOf),
      lost: lost.map(placeOf),
    });
  }
  if (committed.length > 0) emitter.emit('commit', { offsets: committed });
  for (const refusal of refused) {
    logger.warn('A commit was refused', refusal);
    emitter.emit('commit.refused', refusal);
  }
  for (const told of overtaken) logger.warn('A redriven record was done, and given to another meanwhile', told);
  for (const { partition: held, logStartOffset } of outOfRange) {
    const { position } = held;
    const told = { ...placeOf(held), position, logStartOffset, skipped: Math.max(0, logStartOffset - position) };
    const what = told.skipped > 0 ? 'Retention was faster than the group' : 'A position lies behind the end of its log';
    logger.error(what, told);
    emitter.emit('offset.out_of_range', told);
  }
  for (const { partition: held, from, to } of jumped) {
    const told = { ...placeOf(held), from, to, skipped: to - from };
    logger.warn('A position was reset, as onOutOfRange says', told);
    emitter.emit('offset.reset', told);
  }
}

export const placeOf = ({ topic, partition }: TopicPartition): TopicPartition => ({ topic, partition });
