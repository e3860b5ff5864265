import { itemBytes } from './units.ts';

/** One call of an SDK client, with what the service said that it cost. */
export interface Call {
  /** `DynamoDB`, `S3`, … */
  readonly service: string;
  /** `PutItem`, `Query`, … */
  readonly operation: string;
  /** Requests that it took, retries included. */
  readonly attempts: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly conditionFailed: boolean;
  /** Of the item put; 0 for anything but a PutItem. */
  readonly putBytes: number;
  /** Of the batch in that item, or of the object put. */
  readonly batchBytes: number;
  /** Places in the order of all beginnings and ends: a call began after another one when `began` > its `ended`. */
  readonly began: number;
  readonly ended: number;
}

/** What is used of a client: any of the SDK's. */
interface Watched {
  readonly config: { readonly serviceId: string };
  readonly middlewareStack: {
    add(middleware: (next: Next, context: Context) => Next, options: { step: 'initialize'; name: string }): void;
  };
}
interface Context {
  readonly commandName?: string;
}
// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type of a middleware, whose arguments differ by command
type Next = (args: any) => Promise<any>;

const WRITES: ReadonlySet<string> = new Set([
  ...['PutItem', 'UpdateItem', 'DeleteItem'],
  ...['BatchWriteItem', 'TransactWriteItems'],
]);

/** Counts the calls of SDK clients, and has the engine report what each consumed; the code that calls knows nothing of it. */
export class Meter {
  #tick = 0;
  #calls: Call[] = [];
  readonly #running = new Set<Promise<unknown>>();

  watch(client: Watched): void {
    const service = client.config.serviceId;
    const middleware = (next: Next, context: Context): Next => {
      const operation = (context.commandName ?? '').replace(/Command$/, '');
      return (args) => this.#follow(this.#measure(service, operation, next, args));
    };
    client.middlewareStack.add(middleware, { step: 'initialize', name: 'benchMeter' });
  }

  /** The calls that have ended since the last time, in the order of their ends. */
  take(): Call[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** Waits for the calls that nobody waited for, then takes all. */
  async takeAll(): Promise<Call[]> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    return this.take();
  }

  #follow<T>(call: Promise<T>): Promise<T> {
    const ended = call.finally(() => this.#running.delete(ended));
    this.#running.add(ended);
    return ended;
  }

  async #measure(service: string, operation: string, next: Next, args: Parameters<Next>[0]) {
    const began = ++this.#tick;
    const asked = service === 'DynamoDB' ? { ...args.input, ReturnConsumedCapacity: 'TOTAL' } : args.input;
    const item = operation === 'PutItem' ? args.input.Item : undefined;
    const batch = operation === 'PutObject' ? args.input.Body : item?.batch?.B;
    const note = (units: number, attempts: number, conditionFailed: boolean) => {
      const isWrite = WRITES.has(operation);
      this.#calls.push({
        ...{ service, operation, attempts, conditionFailed, began, ended: ++this.#tick },
        ...{ writeUnits: isWrite ? units : 0, readUnits: isWrite ? 0 : units },
        ...{ putBytes: item === undefined ? 0 : itemBytes(item), batchBytes: batch?.length ?? 0 },
      });
    };
    try {
      const answer = await next({ ...args, input: asked });
      note(unitsOf(answer.output.ConsumedCapacity), answer.output.$metadata.attempts ?? 1, false);
      return answer;
    } catch (error) {
      const { name, $metadata } = error as { name?: string; $metadata?: { attempts?: number } };
      note(0, $metadata?.attempts ?? 1, name === 'ConditionalCheckFailedException');
      throw error;
    }
  }
}

function unitsOf(consumed: { CapacityUnits?: number } | { CapacityUnits?: number }[] | undefined): number {
  return [consumed ?? []].flat().reduce((sum, { CapacityUnits = 0 }) => sum + CapacityUnits, 0);
}

/** Round trips that had to wait for each other: the longest chain of calls each of which began after another's end. */
export function sequentialRoundTrips(calls: readonly Pick<Call, 'began' | 'ended'>[]): number {
  let trips = 0;
  let end = 0;
  for (const call of [...calls].sort((a, b) => a.ended - b.ended)) {
    if (call.began <= end) continue;
    trips += 1;
    end = call.ended;
  }
  return trips;
}

/** Sum of one figure over calls. */
export function sum(calls: readonly Call[], figure: 'writeUnits' | 'readUnits' | 'attempts'): number {
  return calls.reduce((total, call) => total + call[figure], 0);
}
