import type { Observation } from '../../../shared/domain/observation.ts';
import { Coverage } from '../coverage.ts';
import type { Item } from './expressions.ts';
import { Host } from './host.ts';
import { Mirror } from './mirror.ts';
import { type Fate, Network, type NetworkHabits, PERFECT } from './network.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { isStale, type Wire } from './sdk.ts';
import { Services } from './services.ts';
import { type Change, type DynamoModel, keyOf, type Outcome } from './tables.ts';
import { Watcher } from './watcher.ts';

/** Any time will do; this one is a round one. */
const BEGIN = Date.UTC(2030, 0, 1);

export interface WorldOptions {
  readonly seed: number;
  readonly habits: NetworkHabits;
  readonly spillAboveBytes: number;
  readonly traced?: boolean;
  /** Makes every new host wrong in the same way, so that the checker can be seen to notice. */
  readonly sabotage?: (host: Host, world: World) => void;
}

/** What a caller learns of a call: its answer, its error, or nothing, because the process died or took too long. */
export type Told<T> = { readonly answer: T } | { readonly error: unknown } | 'nothing';

/** Callers are answered within this, or give up. Source: AWS, HTTP API quotas, "Maximum integration timeout". */
const CALLER_PATIENCE_MS = 30_000;

/** The simulated world: services, a network, hosts that come and go, and one time for all. */
export class World implements Wire {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly network: Network;
  readonly mirror = new Mirror();
  readonly coverage = new Coverage();
  readonly hosts: Host[] = [];
  isCalm = false;
  /** What is removed now has expired. */
  isExpiring = false;
  /** Told of every change of an item while it is made. */
  onChange: (change: Change) => void = () => {};
  readonly #dynamodb: DynamoModel;
  readonly #services: Services;
  readonly #watcher: Watcher;
  readonly #options: WorldOptions;
  /** Partition keys that are throttled, and until when. */
  readonly #throttled = new Map<string, number>();
  #named = 0;

  constructor(dynamodb: DynamoModel, options: WorldOptions) {
    this.random = new Random(options.seed);
    this.scheduler = new Scheduler(this.random, BEGIN, options.traced ?? false);
    this.network = new Network(this.random, options.habits);
    this.#options = options;
    this.#dynamodb = dynamodb;
    this.#services = new Services(dynamodb, this.random);
    this.#watcher = new Watcher(this.coverage);
    this.mirror.payload = (key) => this.#services.bucket.object(key);
    dynamodb.onChange = (change) => {
      this.mirror.take(change, this.scheduler.now);
      this.#services.remember(change);
      this.#watcher.changed(change);
      this.onChange(change);
    };
  }

  get now(): number {
    return this.scheduler.now;
  }

  /** Everything that the tables hold. */
  items(): ReturnType<DynamoModel['items']> {
    return this.#dynamodb.items();
  }

  /** Keys of everything in the bucket. */
  get objects(): ReadonlySet<string> {
    return this.#services.bucket.objects;
  }

  /** A new process. */
  start(skewMs: number): Host {
    const name = `h${++this.#named}`;
    const host = new Host(name, skewMs, this.scheduler, this.random, this, this.#options.spillAboveBytes);
    this.#options.sabotage?.(host, this);
    this.hosts.push(host);
    return host;
  }

  crash(host: Host): void {
    this.coverage.count('host crashed');
    this.scheduler.note(() => `${host.name} dies`);
    host.crash();
    this.hosts.splice(this.hosts.indexOf(host), 1);
  }

  freeze(host: Host, ms: number): void {
    this.coverage.count('host frozen');
    this.scheduler.note(() => `${host.name} stands still for ${ms} ms`);
    host.freeze(ms);
  }

  /** Refuses every write under one partition key for a while. */
  throttle(key: string, ms: number): void {
    this.#throttled.set(key, this.now + ms);
  }

  /** A call of an operation on a host, as seen by whoever waits for the answer. */
  async call<T>(host: Host, act: () => Promise<T>): Promise<Told<T>> {
    const answered = new Promise<Told<T>>((tell) => {
      host.wake(() => {
        act().then(
          (answer) => tell({ answer }),
          (error) => tell({ error }),
        );
      });
    });
    const nothing = (): 'nothing' => 'nothing';
    return Promise.race([answered, host.died.then(nothing), this.scheduler.sleep(CALLER_PATIENCE_MS).then(nothing)]);
  }

  /** One PUT by a presigned URL, from outside of every host. @returns 'nothing' when there was no answer */
  async put(url: string, bytes: Uint8Array): Promise<'stored' | 'refused' | 'nothing'> {
    const { there, back, requestLost, answerLost } = this.network.fate();
    await this.scheduler.sleep(there);
    if (requestLost) return 'nothing';
    const outcome = this.#services.bucket.put(url, bytes, this.now);
    this.coverage.count(outcome === 'stored' ? 'payload uploaded' : 'payload refused by the bucket');
    this.scheduler.note(() => `PUT ${(JSON.parse(url) as { key: string }).key} → ${outcome}`);
    await this.scheduler.sleep(back);
    return answerLost ? 'nothing' : outcome;
  }

  /** A GET by a presigned URL that gets through. */
  get(url: string): Uint8Array | 'refused' | 'missing' {
    return this.#services.bucket.get(url, this.now);
  }

  /** Removes some of what has expired, in any order, as the service does when it comes to it. */
  async expireSome(share: number): Promise<void> {
    const seconds = Math.floor(this.now / 1_000);
    const expired = (await this.#dynamodb.items()).filter(({ item }) => Number(item.expiresAt?.N) < seconds);
    for (const { table, item } of this.random.shuffled(expired)) {
      if (!this.random.chance(share)) continue;
      this.coverage.count('item expired');
      this.scheduler.note(() => `expired: ${item.log?.S ?? item.pk?.S} ${item.last?.N ?? ''}`);
      this.isExpiring = true;
      await this.#dynamodb.run('DeleteItem', { TableName: table, Key: keyOf(table, item) });
      this.isExpiring = false;
    }
  }

  /** From now on nothing goes wrong any more. */
  calm(): void {
    this.isCalm = true;
    this.network.habits = PERFECT;
    this.#throttled.clear();
  }

  fate(host: Host, operation: string, input: object): Fate {
    const fate = this.network.fate();
    const refused = this.#isThrottled(operation, input) ? 'throttled' : fate.refused;
    if (fate.requestLost) this.coverage.count('request lost');
    else if (refused === 'throttled') this.coverage.count('throttled');
    else if (refused === 'internal-error') this.coverage.count('internal error');
    if (fate.answerLost) this.coverage.count('answer lost');
    this.scheduler.note(() => `${host.name} ${describe(operation, input)}`);
    return refused === 'throttled' ? { ...fate, refused, carriedOut: false } : fate;
  }

  async arrive(host: Host, operation: string, input: object, signedAt: number): Promise<Outcome | undefined> {
    if (isStale(signedAt, this.now)) {
      // Whoever sent it has closed the connection long ago, so nobody hears the refusal.
      this.coverage.count('refused for its old signature');
      return undefined;
    }
    this.#dynamodb.now = this.now;
    const outcome = await this.#services.run(operation, input);
    this.#watcher.arrived(host, operation, input, outcome, this.now + host.skewMs - signedAt);
    this.scheduler.note(
      () => `${host.name} ${describe(operation, input)} → ${'error' in outcome ? outcome.error.name : 'done'}`,
    );
    return outcome;
  }

  chance(): number {
    return this.random.next();
  }

  observed(host: Host, observation: Observation): void {
    this.#watcher.observed(observation);
    this.scheduler.note(() => `${host.name} saw ${observation.kind}`);
  }

  #isThrottled(operation: string, input: object): boolean {
    if (this.#throttled.size === 0 || !/Put|Update|Delete/.test(operation)) return false;
    const { Item, Key } = input as { Item?: Item; Key?: Item };
    const key = Item ?? Key;
    const until = this.#throttled.get(key?.log?.S ?? key?.pk?.S ?? '');
    return until !== undefined && this.now < until;
  }
}

/** An attempt in a few words, for the trace. */
function describe(operation: string, input: object): string {
  const { Item, Key, ExpressionAttributeValues } = input as Record<string, Item | string | undefined>;
  const named = typeof Key === 'string' ? Key : ((Item as Item | undefined) ?? Key);
  if (typeof named === 'string') return `${operation} ${named}`;
  const values = ExpressionAttributeValues as Item | undefined;
  const where = named?.log?.S ?? named?.pk?.S ?? values?.[':log']?.S ?? values?.[':pk']?.S ?? '';
  const at = named?.last?.N ?? values?.[':offset']?.N ?? (named?.sk?.S?.length === 26 ? named.sk.S : '');
  const what = named?.void === undefined ? '' : ` void of ${named.count?.N}`;
  return `${operation} ${where.replace(/[0-9A-Z]{22}(?=[0-9A-Z]{4}[.#])/, '…')} ${at}${what}`;
}
