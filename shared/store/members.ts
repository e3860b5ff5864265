import {
  type AttributeValue,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type GroupId, type Member, memberExpiry } from '../domain/group.ts';
import { MEMBER_LEFTOVER_MS } from '../domain/limits.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts } from './dynamo.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, memberKey, membersKey, refuseUnknownLayout } from './keys.ts';
import { queryAll } from './state-query.ts';

type Item = Record<string, AttributeValue>;

const NAMES = {
  '#memberId': 'memberId',
  '#lastSeenAt': 'lastSeenAt',
  '#sessionTimeoutMs': 'sessionTimeoutMs',
  '#topics': 'topics',
  '#expiresAt': 'expiresAt',
};
const IS_SESSION = `${KNOWN_LAYOUT} AND #memberId = :memberId`;

/** The members of groups in the State table: one item per member key. */
export class Members {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** @param strong else as some replica has it: half a read unit. @throws {Throttled | Unavailable} */
  async read(group: GroupId, key: string, strong: boolean): Promise<Member | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: itemKey(group, key), ConsistentRead: strong });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toMember(Item);
  }

  /** All members, strongly consistent, by key; those whose session has ended too. @throws {Throttled | Unavailable} */
  async all(group: GroupId): Promise<Member[]> {
    return queryAll(this.#dynamodb, this.#table, { pk: membersKey(group), read: toMember });
  }

  /**
   * Adds a member, or puts a new session in the place of another: one write unit.
   *
   * @param replaced the session that was found under the key; absent: none was
   * @returns false when another session is there, or the same since an earlier join, or the one to be replaced is not:
   *   read it. A retry of this very join finds what it wrote and is true.
   * @throws {WriteFailed}
   */
  async join(group: GroupId, member: Member, replaced?: Member): Promise<boolean> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: toItem(group, member),
      ...(replaced === undefined
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : {
            ConditionExpression: IS_SESSION,
            ExpressionAttributeNames: { '#memberId': NAMES['#memberId'] },
            ExpressionAttributeValues: { ':memberId': { S: replaced.memberId }, ...KNOWN_VERSION },
          }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const met = await metBy(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
    if (met === undefined) return true;
    return met !== 'nothing' && met.memberId === member.memberId && met.lastSeenAt === member.lastSeenAt;
  }

  /**
   * Notes that a session was seen, and what it wants by now: one write unit. A later sight is not taken back, though
   * what the session wants is noted all the same.
   *
   * @returns false when the session is no longer there @throws {WriteFailed}
   */
  async heartbeat(group: GroupId, member: Member): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(group, member.key),
      UpdateExpression:
        'SET #lastSeenAt = :lastSeenAt, #sessionTimeoutMs = :sessionTimeoutMs, #topics = :topics, #expiresAt = :expiresAt',
      // An attempt that lands late must not make the session look older than it is.
      ConditionExpression: `${IS_SESSION} AND #lastSeenAt <= :lastSeenAt`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':memberId': { S: member.memberId },
        ':lastSeenAt': { N: String(member.lastSeenAt) },
        ':sessionTimeoutMs': { N: String(member.sessionTimeoutMs) },
        ':topics': textList(member.topics),
        ':expiresAt': expiryOf(member),
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const met = await metBy(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
    if (met === undefined) return true;
    if (met === 'nothing' || met.memberId !== member.memberId) return false;
    if (wantsSame(met, member)) return true;
    return this.heartbeat(group, { ...member, lastSeenAt: Math.max(met.lastSeenAt, member.lastSeenAt) });
  }

  /**
   * Removes a member whose session has ended, if nobody saw it since. Of this and its heartbeat, one wins.
   *
   * @param member as read @returns false when it lives @throws {WriteFailed}
   */
  async expire(group: GroupId, member: Member): Promise<boolean> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(group, member.key),
      ConditionExpression: `${IS_SESSION} AND #lastSeenAt = :lastSeenAt`,
      ExpressionAttributeNames: { '#memberId': NAMES['#memberId'], '#lastSeenAt': NAMES['#lastSeenAt'] },
      ExpressionAttributeValues: {
        ':memberId': { S: member.memberId },
        ':lastSeenAt': { N: String(member.lastSeenAt) },
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const met = await metBy(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
    return met === undefined || met === 'nothing';
  }

  /** Removes a session. @returns false when it is not there: it left before, or another took its place @throws {WriteFailed} */
  async leave(group: GroupId, key: string, memberId: string): Promise<boolean> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(group, key),
      ConditionExpression: IS_SESSION,
      ExpressionAttributeNames: { '#memberId': NAMES['#memberId'] },
      ExpressionAttributeValues: { ':memberId': { S: memberId }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    const met = await metBy(attempts.outcome(this.#dynamodb.send(command)));
    return met === undefined || (met === 'nothing' && attempts.anyUnanswered);
  }
}

/** Awaits a write. @returns undefined when its condition held, else what it met @throws {WriteFailed | UnknownLayout} */
async function metBy(written: Promise<unknown>): Promise<Member | 'nothing' | undefined> {
  try {
    await written;
    return undefined;
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    return error.Item === undefined ? 'nothing' : toMember(error.Item);
  }
}

function wantsSame(a: Member, b: Member): boolean {
  if (a.sessionTimeoutMs !== b.sessionTimeoutMs || a.topics.length !== b.topics.length) return false;
  return a.topics.every((topic, i) => topic === b.topics[i]);
}

function itemKey(group: GroupId, key: string): Item {
  const { pk, sk } = memberKey(group, key);
  return { pk: { S: pk }, sk: { S: sk } };
}

/** Epoch s: a group that nobody polls any more expires nobody. */
function expiryOf(member: Member): AttributeValue {
  return { N: String(Math.ceil((memberExpiry(member) + MEMBER_LEFTOVER_MS) / 1_000)) };
}

function textList(texts: readonly string[]): AttributeValue {
  return { L: texts.map((text) => ({ S: text })) };
}

function toItem(group: GroupId, member: Member): Item {
  return {
    ...itemKey(group, member.key),
    v: { N: LAYOUT_VERSION },
    memberId: { S: member.memberId },
    lastSeenAt: { N: String(member.lastSeenAt) },
    sessionTimeoutMs: { N: String(member.sessionTimeoutMs) },
    topics: textList(member.topics),
    joinedAt: { N: String(member.joinedAt) },
    ...(member.instanceId === undefined ? {} : { instanceId: { S: member.instanceId } }),
    expiresAt: expiryOf(member),
  };
}

function toMember(item: Item): Member {
  refuseUnknownLayout(item);
  return {
    key: item.sk!.S!,
    memberId: item.memberId!.S!,
    lastSeenAt: Number(item.lastSeenAt!.N),
    sessionTimeoutMs: Number(item.sessionTimeoutMs!.N),
    topics: item.topics!.L!.map(({ S }) => S!),
    joinedAt: Number(item.joinedAt!.N),
    ...(item.instanceId === undefined ? {} : { instanceId: item.instanceId.S! }),
  };
}
