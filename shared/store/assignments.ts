import { type AttributeValue, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { GroupId } from '../domain/group.ts';
import { ASSIGNMENT_LIFE_MS } from '../domain/limits.ts';
import type { Plan } from '../domain/plan.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { assignmentKey, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { decodePlan, encodePlan } from './plan-layout.ts';

type Item = Record<string, AttributeValue>;

/** One version of a group's assignment. */
export interface Assignment {
  /** Epoch ms. */
  readonly at: number;
  readonly plan: Plan;
}

/** The assignments of groups in the State table: one item per version, never changed. */
export class Assignments {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Reads a version; only one that a replica does not have is read strongly. @throws {Throttled | Unavailable} */
  async read(group: GroupId, version: number): Promise<Assignment | undefined> {
    const item = (await this.#get(group, version, false)) ?? (await this.#get(group, version, true));
    if (item === undefined) return undefined;
    refuseUnknownLayout(item);
    return { at: Number(item.at!.N), plan: decodePlan(item.plan!.B!) };
  }

  /**
   * Writes a version: ⌈KB⌉ write units.
   *
   * @param at epoch ms @returns false when that version is there: put the next one @throws {WriteFailed}
   */
  async put(group: GroupId, version: number, plan: Plan, at: number): Promise<boolean> {
    const bytes = encodePlan(plan);
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...itemKey(group, version),
        v: { N: LAYOUT_VERSION },
        at: { N: String(at) },
        plan: { B: bytes },
        expiresAt: { N: String(Math.ceil((at + ASSIGNMENT_LIFE_MS) / 1_000)) },
      },
      ConditionExpression: 'attribute_not_exists(pk)',
    });
    const attempts = new WriteAttempts(command);
    if (await whetherWritten(attempts.outcome(this.#dynamodb.send(command)))) return true;
    if (!attempts.anyUnanswered) return false;
    const found = await this.#get(group, version, true);
    return found?.at?.N === String(at) && Buffer.from(bytes).equals(found.plan!.B!);
  }

  async #get(group: GroupId, version: number, strong: boolean): Promise<Item | undefined> {
    const Key = itemKey(group, version);
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: strong });
    return (await readOutcome(this.#dynamodb.send(command))).Item;
  }
}

function itemKey(group: GroupId, version: number): Item {
  const { pk, sk } = assignmentKey(group, version);
  return { pk: { S: pk }, sk: { S: sk } };
}
