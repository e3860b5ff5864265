import type { Clock } from '../domain/clock.ts';
import { nextEpoch } from '../domain/group.ts';
import { PUSH_LEASE_MARGIN_MS } from '../domain/limits.ts';
import type { PositionId, PushState } from '../domain/position.ts';
import type { DeliverPorts } from './deliver-ports.ts';

/** A lease that was renewed so recently needs no write of its own before a call. */
const LEASE_FRESH_MS = 10_000;

export interface LeasePorts extends Pick<DeliverPorts, 'pushPositions' | 'newRunId'> {
  readonly clock: Clock;
}

/** What a run writes down. */
export interface Progress {
  readonly committed: number;
  readonly push: PushState;
}

/** What one run has of a position while it calls a target: nobody else calls meanwhile, and nobody takes it by mistake. */
export class PositionLease {
  readonly #ports: LeasePorts;
  readonly #id: PositionId;
  readonly #leaseMs: number;
  readonly #deadline: number;
  readonly #owner: string;
  #epoch: number;
  /** Epoch ms; 0: the position is not this run's. */
  #until = 0;

  /**
   * @param epoch of the position as it was read
   * @param timeoutMs of a call
   * @param deadline epoch ms at which whoever runs this is ended
   */
  constructor(ports: LeasePorts, id: PositionId, epoch: number, timeoutMs: number, deadline: number) {
    this.#ports = ports;
    this.#id = id;
    this.#epoch = epoch;
    this.#leaseMs = timeoutMs + PUSH_LEASE_MARGIN_MS;
    this.#deadline = deadline;
    this.#owner = ports.newRunId();
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** As whom this run holds the position, while it does. */
  get holder(): { readonly owner: string; readonly epoch: number } {
    return { owner: this.#owner, epoch: this.#epoch };
  }

  get isHeld(): boolean {
    return this.#until > 0;
  }

  /** No call begins that this run, or its lease, may not outlive. */
  hasTime(afterMs = 0): boolean {
    return this.#deadline - this.#ports.clock.now() - afterMs >= this.#leaseMs;
  }

  /** @returns false when somebody has it, or had it since it was read. @throws {Throttled | Unavailable | WriteFailed} */
  async take(committed: number): Promise<boolean> {
    const now = this.#ports.clock.now();
    const by = { owner: this.#owner, epoch: nextEpoch(this.#epoch, now), until: now + this.#leaseMs, now };
    const isTaken = await this.#ports.pushPositions.take(this.#id, { epoch: this.#epoch, committed }, by);
    if (isTaken) {
      this.#epoch = by.epoch;
      this.#until = by.until;
    }
    return isTaken;
  }

  /**
   * Before each call: no other run may begin while this one may still be calling. A renewal whose answer came late, to a
   * process that stood still, is none.
   *
   * @returns false when the position is no longer this run's. @throws {Throttled | Unavailable | WriteFailed}
   */
  async renew(progress: Progress): Promise<boolean> {
    const isFresh = () => this.#until - this.#ports.clock.now() >= this.#leaseMs - LEASE_FRESH_MS;
    for (let at = progress; !isFresh(); ) {
      const done = await this.step(at, true);
      if (done === false) return false;
      if (done !== true) at = { ...at, ...done };
    }
    return true;
  }

  /**
   * Writes down how far this run is, and keeps the position or lets it go.
   *
   * @param hasFailed fences what may still be under way
   * @returns false when the position is no longer this run's; how far it is, when whoever was called has moved it further
   *   itself: nothing was written. @throws {Throttled | Unavailable | WriteFailed}
   */
  async step(
    { committed, push }: Progress,
    keep: boolean,
    hasFailed = false,
  ): Promise<boolean | Pick<Progress, 'committed'>> {
    const now = this.#ports.clock.now();
    const epoch = hasFailed ? nextEpoch(this.#epoch, now) : this.#epoch;
    const until = keep ? now + this.#leaseMs : 0;
    const isDone = await this.#ports.pushPositions.step(this.#id, this.holder, {
      committed,
      epoch,
      push,
      ...(keep && { until }),
    });
    if (typeof isDone !== 'boolean') return isDone;
    this.#epoch = epoch;
    this.#until = isDone ? until : 0;
    return isDone;
  }

  /**
   * As a step that keeps the position and fences what is under way, where it is written together with something else.
   *
   * @param write @returns false: nothing was written @param above the next epoch is above this one, too @throws {WriteFailed}
   */
  async stepBy(
    progress: Progress,
    write: (
      by: { readonly owner: string; readonly epoch: number },
      step: Progress & { readonly epoch: number; readonly until: number },
    ) => Promise<boolean>,
    above = 0,
  ): Promise<boolean> {
    const now = this.#ports.clock.now();
    const [epoch, until] = [nextEpoch(Math.max(this.#epoch, above), now), now + this.#leaseMs];
    if (!(await write(this.holder, { ...progress, epoch, until }))) return false;
    this.#epoch = epoch;
    this.#until = until;
    return true;
  }
}
