import type { Position, PositionId, PushState } from '../domain/position.ts';
import { afterMove } from '../domain/push-retry.ts';
import type { DynamoDB } from './dynamo.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION } from './keys.ts';
import { pushToMap, updatePosition } from './position-item.ts';

const NAMES = { '#epoch': 'epoch', '#owner': 'owner', '#until': 'until', '#committed': 'committed' };

/** What one run of a delivery makes of a position that it owns. */
export interface PushStep {
  /** No lower than it was. */
  readonly committed: number;
  /** The one by which it owns it, or, where something failed, a higher one. */
  readonly epoch: number;
  /** Epoch ms up to which it goes on owning it; absent: it is released. */
  readonly until?: number;
  readonly push: PushState;
}

/** The positions of subscriptions, as deliveries write to them: one write unit each. */
export class PushPositions {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Makes a run the owner of a position that nobody owns, or whose owner's time is up.
   *
   * @param by `owner`: another one for each run; `until`, `now`: epoch ms
   * @returns false when it is no longer as seen, or is owned
   * @throws {WriteFailed}
   */
  async take(
    position: PositionId,
    seen: Pick<Position, 'epoch' | 'committed'>,
    by: { readonly owner: string; readonly epoch: number; readonly until: number; readonly now: number },
  ): Promise<boolean> {
    const met = await updatePosition(this.#dynamodb, this.#table, position, {
      UpdateExpression: 'SET #owner = :owner, #until = :until, #epoch = :next',
      // An owner whose time was up when it was seen may have renewed it, or committed, in the same epoch.
      ConditionExpression: `${KNOWN_LAYOUT} AND #epoch = :epoch AND #committed = :committed AND (attribute_not_exists(#owner) OR #until < :now)`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ':epoch': { N: String(seen.epoch) },
        ':committed': { N: String(seen.committed) },
        ':next': { N: String(by.epoch) },
        ':owner': { S: by.owner },
        ':until': { N: String(by.until) },
        ':now': { N: String(by.now) },
        ...KNOWN_VERSION,
      },
    });
    return met === undefined || (met !== 'nothing' && met.owner === by.owner && met.epoch === by.epoch);
  }

  /**
   * Writes down what became of a call: how far it got, what failed, whether its run goes on. A target may have moved the
   * position in this very call, by what it did with the records (`processOnce`), and failed then: what it moved stays.
   *
   * @returns what is committed now; undefined when the position is not, or no longer, this run's: somebody took it, or it is gone
   * @throws {WriteFailed}
   */
  async step(
    position: PositionId,
    by: { readonly owner: string; readonly epoch: number },
    { committed, epoch, until, push }: PushStep,
  ): Promise<number | undefined> {
    const met = await updatePosition(this.#dynamodb, this.#table, position, {
      UpdateExpression: `SET #committed = :committed, #epoch = :next, #push = :push${
        until === undefined ? ' REMOVE #owner, #until' : ', #until = :until'
      }`,
      ConditionExpression: `${KNOWN_LAYOUT} AND #epoch = :epoch AND #owner = :owner AND #committed <= :committed`,
      ExpressionAttributeNames: { ...NAMES, '#push': 'push' },
      ExpressionAttributeValues: {
        ':epoch': { N: String(by.epoch) },
        ':owner': { S: by.owner },
        ':committed': { N: String(committed) },
        ':next': { N: String(epoch) },
        ':push': pushToMap(push),
        ...(until === undefined ? {} : { ':until': { N: String(until) } }),
        ...KNOWN_VERSION,
      },
    });
    if (met === undefined) return committed;
    if (met === 'nothing') return undefined;
    // Its own first attempt, whose answer was lost: no epoch has two owners.
    const isReleased = until === undefined && met.owner === undefined;
    const isKept = until !== undefined && met.owner === by.owner && met.until === until;
    if (met.epoch === epoch && met.committed === committed && (isReleased || isKept)) return committed;
    const isMoved = met.epoch === by.epoch && met.owner === by.owner && met.committed > committed;
    if (!isMoved) return undefined;
    const to = { committed: met.committed, epoch, push: afterMove(push, met.committed) };
    return this.step(position, by, { ...to, ...(until !== undefined && { until }) });
  }
}
