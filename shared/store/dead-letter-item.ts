import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId, PastFailure } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { deadLetterKey, LAYOUT_VERSION, parseDeadLetterSort, refuseUnknownLayout } from './keys.ts';

type Item = Record<string, AttributeValue>;

export function letterItemKey(group: GroupId, { topicId, partition, offset }: DeadLetterId): Item {
  const { pk, sk } = deadLetterKey(group, { topicId, partition, offset });
  return { pk: { S: pk }, sk: { S: sk } };
}

export function toLetterItem(group: GroupId, letter: DeadLetter): Item {
  const { payload, history } = letter;
  return {
    ...letterItemKey(group, letter),
    v: { N: LAYOUT_VERSION },
    topic: { S: letter.topic },
    ...('bytes' in payload
      ? { payload: { B: payload.bytes } }
      : {
          object: {
            M: { size: { N: String(payload.object.size) }, sha256: { B: Buffer.from(payload.object.sha256, 'hex') } },
          },
        }),
    error: { M: { name: { S: letter.error.name }, message: { S: letter.error.message } } },
    attempts: { N: String(letter.attempts) },
    redrives: { N: String(letter.redrives) },
    ...(history !== undefined && { history: { L: history.map(toPast) } }),
    firstFailedAt: { N: String(letter.firstFailedAt) },
    deadLetteredAt: { N: String(letter.deadLetteredAt) },
  };
}

function toPast({ error, deadLetteredAt }: PastFailure): AttributeValue {
  return { M: { name: { S: error.name }, message: { S: error.message }, at: { N: String(deadLetteredAt) } } };
}

export function toDeadLetter(item: Item): DeadLetter {
  refuseUnknownLayout(item);
  const object = item.object?.M;
  const error = item.error!.M!;
  return {
    ...parseDeadLetterSort(item.sk!.S!),
    topic: item.topic!.S!,
    payload:
      object === undefined
        ? { bytes: item.payload!.B! }
        : { object: { size: Number(object.size!.N), sha256: Buffer.from(object.sha256!.B!).toString('hex') } },
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
