import { type Claim, claimExpiry, movePin, type Pin, pinOf } from '../domain/claim.ts';
import { OutcomeUnknown, Throttled, Unavailable } from '../domain/errors.ts';
import type { Reservation } from '../domain/slot.ts';
import type { Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';

/** Times that one partition's pin, or one claim, is found to have been changed by others before the request gives up. */
export const MOVES_MAX = 8;

export interface ClaimStore {
  /** A live claim. */
  read(topicId: string, key: string, now: number): Promise<Claim | undefined>;
  /** @returns the live claim that was there first */
  make(topicId: string, key: string, claim: Claim, now: number): Promise<Claim | undefined>;
  /** @returns false when it is no longer `from` */
  replace(topicId: string, key: string, from: Claim, to: Claim): Promise<boolean>;
}

/** Somebody else has moved the pin that this request wanted to move. */
export class ClaimMoved extends Error {}

/** A pin that is to be moved, and who waits for it. */
interface Move {
  readonly fromId: string;
  readonly to: Pin;
  tries: number;
  done(): void;
  failed(error: unknown): void;
}

/** A claim as one request last knew it, whose pins it moves. */
export class PinnedClaim {
  readonly #claims: ClaimStore;
  readonly #topic: Topic;
  readonly #key: string;
  readonly #now: () => number;
  #current: Claim;
  #waiting: Move[] = [];
  #isMoving = false;

  /** @param now epoch ms */
  constructor(claims: ClaimStore, topic: Topic, key: string, claim: Claim, now: () => number) {
    this.#claims = claims;
    this.#topic = topic;
    this.#key = key;
    this.#now = now;
    this.#current = claim;
  }

  get current(): Claim {
    return this.#current;
  }

  /**
   * Moves a pin. The claim is replaced as a whole, by compare-and-set: pins that wait meanwhile are moved together, by the
   * next one.
   *
   * @throws {ClaimMoved | Throttled | Unavailable | OutcomeUnknown} what it would point to must not be filled
   */
  move(fromId: string, to: Pin): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ fromId, to, tries: 0, done, failed });
      if (!this.#isMoving) void this.#moveAll();
    });
  }

  async #moveAll(): Promise<void> {
    this.#isMoving = true;
    while (this.#waiting.length > 0) {
      const moves = this.#waiting.filter((move) => this.#isToDo(move));
      this.#waiting = [];
      if (moves.length > 0) await this.#moveTogether(moves);
    }
    this.#isMoving = false;
  }

  /** Whether a pin is still where it is to be moved from. If not, whoever waits for it is told. */
  #isToDo({ fromId, to, tries, done, failed }: Move): boolean {
    const { id } = pinOf(this.#current, to.partition);
    if (id === to.id) done();
    else if (id !== fromId) failed(new ClaimMoved());
    else if (tries === MOVES_MAX) failed(new Unavailable(`${TOO_MANY}; repeat the request`));
    else return true;
    return false;
  }

  async #moveTogether(moves: readonly Move[]): Promise<void> {
    const from = this.#current;
    const expiryOf = ({ time }: Pin) => claimExpiry(this.#topic.retentionMs, time);
    const next = moves.reduce((claim, { to }) => movePin(claim, to, expiryOf(to)), from);
    try {
      if (await this.#claims.replace(this.#topic.id, this.#key, from, next)) this.#current = next;
      else this.#current = await this.#readAgain(from);
    } catch (error) {
      for (const { failed } of moves) failed(error instanceof WriteFailed ? notClaimed(error) : error);
      return;
    }
    for (const move of moves) move.tries += 1;
    this.#waiting.push(...moves);
  }

  async #readAgain(before: Claim): Promise<Claim> {
    const found = await this.#claims.read(this.#topic.id, this.#key, this.#now());
    // It has died meanwhile: what a later request with this key does, be it the same, is none of this one's business.
    if (found?.fingerprint !== before.fingerprint || found.expiresAt > before.expiresAt) throw outcomeUnknown();
    return found;
  }
}

const TOO_MANY = 'The Idempotency-Key is being used by too many requests at a time';

export function toPin(partition: number, { id, base, count, time }: Reservation): Pin {
  return { partition, id, base, count, time };
}

/** The claim, or the pin's move, is not certain; what it would point to has not been filled and will be voided. */
export function notClaimed(failure: WriteFailed): Throttled | Unavailable {
  const detail = 'The Idempotency-Key could not be stored; nothing was appended by this call';
  return failure.reason === 'throttled'
    ? new Throttled(detail, 1_000, { cause: failure })
    : new Unavailable(detail, 1_000, { cause: failure });
}

export function outcomeUnknown(cause?: Error): OutcomeUnknown {
  return new OutcomeUnknown('Whether the records were stored could not be found out; repeat with the same key', {
    cause,
  });
}
