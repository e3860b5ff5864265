import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId, KeptPayload, PastFailure } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { deadLetterKey, parseDeadLetterSort } from './dead-letter-keys.ts';
import { LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';

type Item = Record<string, AttributeValue>;

export function letterItemKey(group: GroupId, { topicId, partition, offset }: DeadLetterId): Item {
  const { pk, sk } = deadLetterKey(group, { topicId, partition, offset });
  return { pk: { S: pk }, sk: { S: sk } };
}

export function toLetterItem(group: GroupId, letter: DeadLetter): Item {
  const { payload, correction, history } = letter;
  return {
    ...letterItemKey(group, letter),
    v: { N: LAYOUT_VERSION },
    topic: { S: letter.topic },
    ...('bytes' in payload ? { payload: keptAttribute(payload) } : { object: keptAttribute(payload) }),
    ...(correction && correctionOf(correction)),
    error: { M: { name: { S: letter.error.name }, message: { S: letter.error.message } } },
    attempts: { N: String(letter.attempts) },
    redrives: { N: String(letter.redrives) },
    ...(history !== undefined && { history: { L: history.map(toPast) } }),
    firstFailedAt: { N: String(letter.firstFailedAt) },
    deadLetteredAt: { N: String(letter.deadLetteredAt) },
  };
}

/** The attribute under which a letter has what it was corrected to. */
export function correctionOf(kept: KeptPayload): Item {
  return { ['bytes' in kept ? CORRECTION.bytes : CORRECTION.object]: keptAttribute(kept) };
}

/** Their names: of two, a letter has one or none. */
export const CORRECTION = { bytes: 'correction', object: 'correctionObject' } as const;

function keptAttribute(kept: KeptPayload): AttributeValue {
  if ('bytes' in kept) return { B: kept.bytes };
  const { size, sha256 } = kept.object;
  return { M: { size: { N: String(size) }, sha256: { B: Buffer.from(sha256, 'hex') } } };
}

function toKept(bytes: AttributeValue | undefined, object: AttributeValue | undefined): KeptPayload | undefined {
  if (bytes !== undefined) return { bytes: bytes.B! };
  if (object === undefined) return undefined;
  const { size, sha256 } = object.M!;
  return { object: { size: Number(size!.N), sha256: Buffer.from(sha256!.B!).toString('hex') } };
}

function toPast({ error, deadLetteredAt }: PastFailure): AttributeValue {
  return { M: { name: { S: error.name }, message: { S: error.message }, at: { N: String(deadLetteredAt) } } };
}

export function toDeadLetter(item: Item): DeadLetter {
  refuseUnknownLayout(item);
  const correction = toKept(item[CORRECTION.bytes], item[CORRECTION.object]);
  const error = item.error!.M!;
  return {
    ...parseDeadLetterSort(item.sk!.S!),
    topic: item.topic!.S!,
    payload: toKept(item.payload, item.object)!,
    ...(correction && { correction }),
    error: { name: error.name!.S!, message: error.message!.S! },
    attempts: Number(item.attempts!.N),
    redrives: Number(item.redrives!.N),
    ...(item.redriveAt !== undefined && { redriveAt: Number(item.redriveAt.N) }),
    ...(item.history !== undefined && {
      history: item.history.L!.map(({ M }) => ({
        error: { name: M!.name!.S!, message: M!.message!.S! },
        deadLetteredAt: Number(M!.at!.N),
      })),
    }),
    firstFailedAt: Number(item.firstFailedAt!.N),
    deadLetteredAt: Number(item.deadLetteredAt!.N),
  };
}
