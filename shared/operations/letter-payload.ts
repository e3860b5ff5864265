import type { DeadLetter, DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { Payload } from '../domain/upload.ts';

/** Where payloads of dead letters are that are too large for their items. */
export interface LetterObjects {
  /** @param isCorrection of what it was corrected to @returns undefined when it is gone or damaged */
  get(group: GroupId, id: DeadLetterId, expected: Payload, isCorrection?: boolean): Promise<Uint8Array | undefined>;
  /** @param sha256 of what it was corrected to; absent: of the letter itself */
  remove(group: GroupId, id: DeadLetterId, sha256?: string): Promise<void>;
}

/** The record as it was. @returns undefined when its object is gone or damaged @throws {Throttled | Unavailable} */
export async function originalOf(
  objects: Pick<LetterObjects, 'get'>,
  group: GroupId,
  letter: DeadLetter,
): Promise<Uint8Array | undefined> {
  const { payload } = letter;
  return 'bytes' in payload ? payload.bytes : objects.get(group, letter, payload.object);
}

/** The record as it is given back: as it was, or as it was corrected. As `originalOf`. */
export async function redrivenOf(
  objects: Pick<LetterObjects, 'get'>,
  group: GroupId,
  letter: DeadLetter,
): Promise<Uint8Array | undefined> {
  const { correction } = letter;
  if (correction === undefined) return originalOf(objects, group, letter);
  return 'bytes' in correction ? correction.bytes : objects.get(group, letter, correction.object, true);
}

/** Removes what a letter has in objects. @throws {WriteFailed} */
export async function removeObjects(
  objects: Pick<LetterObjects, 'remove'>,
  group: GroupId,
  letter: DeadLetter,
): Promise<void> {
  const { payload, correction } = letter;
  if ('object' in payload) await objects.remove(group, letter);
  if (correction !== undefined && 'object' in correction) {
    await objects.remove(group, letter, correction.object.sha256);
  }
}
