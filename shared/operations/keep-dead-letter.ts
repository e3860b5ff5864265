import type { Clock } from '../domain/clock.ts';
import type { DeadLetter, DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { INLINE_DEAD_LETTER_BYTES_MAX } from '../domain/limits.ts';
import type { Observe } from '../domain/observation.ts';

export interface KeepPorts {
  readonly deadLetters: {
    /** One that is there already stays as it is. */
    put(group: GroupId, letter: DeadLetter): Promise<void>;
  };
  readonly deadLetterObjects: {
    put(
      group: GroupId,
      id: DeadLetterId,
      bytes: Uint8Array,
    ): Promise<{ readonly size: number; readonly sha256: string }>;
  };
  readonly deadLetterQueue: {
    tell(group: GroupId, letter: DeadLetter): Promise<void>;
  };
  readonly clock: Clock;
  readonly observe: Observe;
}

/**
 * Keeps a record that could not be handled, with why, and tells of it: both before anybody passes it, and both may be
 * repeated. What is kept already stays as it is.
 *
 * @param bytes the record, as its encoding is for whoever wrote it to know @throws {WriteFailed}
 */
export async function keepDeadLetter(
  ports: KeepPorts,
  group: GroupId,
  about: DeadLetterId & Pick<DeadLetter, 'topic' | 'error' | 'attempts' | 'firstFailedAt'>,
  bytes: Uint8Array,
): Promise<void> {
  const payload =
    bytes.length <= INLINE_DEAD_LETTER_BYTES_MAX
      ? { bytes }
      : { object: await ports.deadLetterObjects.put(group, about, bytes) };
  const letter = { ...about, payload, redrives: 0, deadLetteredAt: ports.clock.now() };
  await ports.deadLetters.put(group, letter);
  await ports.deadLetterQueue.tell(group, letter);
  ports.observe({ kind: 'dead_letters', count: 1 });
}
