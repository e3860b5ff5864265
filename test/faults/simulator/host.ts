import type { Clients } from '../../../functions/backbone.ts';
import { type Backbone, openBackbone } from '../../../functions/backbone.ts';
import type { Observation } from '../../../shared/domain/observation.ts';
import type { SweepPorts } from '../../../shared/operations/sweep.ts';
import { DeadLetterObjects } from '../../../shared/store/dead-letter-objects.ts';
import { LogPurge } from '../../../shared/store/log-purge.ts';
import { SweepLease } from '../../../shared/store/sweep-lease.ts';
import { SIMULATED_URLS } from './bucket.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import { SimulatedClient, type Wire } from './sdk.ts';
import { TABLES } from './tables.ts';

const ULID_LETTERS = [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'];

export type Rewrite = (operation: string, input: Record<string, unknown> & { Item?: object; Key?: object }) => object;

/** One process of the backbone: its memory, its clock, its clients. */
export class Host {
  readonly name: string;
  readonly backbone: Backbone;
  /** For what its user writes by himself. */
  readonly dynamodb: Clients['dynamodb'];
  /** What the sweep needs besides. */
  readonly sweep: Pick<SweepPorts, 'purge' | 'lease' | 'newToken' | 'deadLetterObjects'>;
  /** Resolves when the process dies. */
  readonly died: Promise<void>;
  alive = true;
  /** ms by which its clock is ahead. */
  readonly skewMs: number;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  #frozenUntil = 0;
  #rewrite: Rewrite = (_, input) => input;
  #die: () => void = () => {};

  constructor(name: string, skewMs: number, scheduler: Scheduler, random: Random, wire: Wire, spillAboveBytes: number) {
    this.name = name;
    this.skewMs = skewMs;
    this.#scheduler = scheduler;
    this.#random = random;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
    const dynamodb = new SimulatedClient(this, scheduler, wire);
    const clients = { dynamodb, s3: dynamodb } as unknown as Clients;
    this.dynamodb = clients.dynamodb;
    const env = { ...TABLES, bucket: 'bucket', spillAboveBytes };
    const observe = (observation: Observation) => wire.observed(this, observation);
    this.sweep = {
      purge: new LogPurge(clients.dynamodb, TABLES.logTable),
      lease: new SweepLease(clients.dynamodb, TABLES.stateTable),
      newToken: () => random.hex(8),
      deadLetterObjects: new DeadLetterObjects(clients.s3, env.bucket),
    };
    const newUlid = () => Array.from({ length: 26 }, () => random.pick(ULID_LETTERS)).join('');
    this.backbone = {
      ...openBackbone(clients, env, observe, { now: () => this.now() }),
      uploadUrls: SIMULATED_URLS as unknown as Backbone['uploadUrls'],
      newReservationId: () => random.hex(12),
      newTopicId: newUlid,
      newUploadId: newUlid,
      random: () => random.next(),
      sleep: (ms) => new Promise((resolve) => scheduler.after(ms, '', () => this.wake(resolve))),
    };
  }

  /** Changes what this host sends: for hosts that are wrong on purpose. */
  rewrite(change: Rewrite): void {
    this.#rewrite = change;
  }

  sent(operation: string, input: object): object {
    return this.#rewrite(operation, input as Parameters<Rewrite>[1]);
  }

  /** Epoch ms on the host's own clock. */
  now(): number {
    return this.#scheduler.now + this.skewMs;
  }

  /** The process ends here: nothing that it waits for comes any more. What it has sent may still arrive. */
  crash(): void {
    this.alive = false;
    this.#die();
  }

  /** The process stands still; its clock and the world go on. */
  freeze(ms: number): void {
    this.#frozenUntil = Math.max(this.#frozenUntil, this.#scheduler.now + ms);
  }

  get frozen(): boolean {
    return this.#scheduler.now < this.#frozenUntil;
  }

  /** Goes on with something that the process waited for: now, when it is thawed, or never. */
  wake(goOn: () => void): void {
    if (!this.alive) return;
    if (!this.frozen) goOn();
    // After the thaw, what has come meanwhile is seen in no particular order.
    else this.#scheduler.at(this.#frozenUntil + this.#random.between(0, 3), '', () => this.wake(goOn));
  }
}
