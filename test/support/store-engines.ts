import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createBackboneTables } from '../../local/aws/tables.ts';
import type { DynamoDB } from '../../shared/store/dynamo.ts';
import { Model } from '../faults/simulator/model.ts';
import { TABLES } from '../faults/simulator/tables.ts';
import { CONTRACT_ENDPOINT, contractEngine, fresh } from './engine.ts';

/** What a store is tested on. */
export interface StoreEngine {
  readonly dynamodb: DynamoDBClient;
  readonly logTable: string;
  readonly stateTable: string;
  /** Queries end at a megabyte. The model does without: no history holds as much. */
  readonly hasPages: boolean;
  close(): Promise<void>;
}

/**
 * Everything that stores run on, by name: the engine that is embedded, or the one at `VERTEBRA_CONTRACT_ENDPOINT`, and
 * the simulator's model of it. One set of expectations holds for all, so that none drifts away.
 */
export const STORE_ENGINES: readonly [name: string, open: () => Promise<StoreEngine>][] = [
  [CONTRACT_ENDPOINT ?? 'the embedded engine', openEngine],
  ["the simulator's model", openModel],
];

async function openEngine(): Promise<StoreEngine> {
  const { dynamodb, close } = await contractEngine();
  const names = { logTable: fresh('log'), stateTable: fresh('state') };
  await createBackboneTables(dynamodb, names);
  return { dynamodb, ...names, hasPages: true, close };
}

async function openModel(): Promise<StoreEngine> {
  const model = new Model();
  const send = async (command: Command) => {
    const stack = command.middlewareStack.clone();
    stack.add((next) => next, { name: 'httpSigningMiddleware', step: 'finalizeRequest' });
    const carryOut = stack.resolve(async () => {
      const outcome = await model.run(command.constructor.name.replace(/Command$/, ''), command.input);
      if ('error' in outcome) throw outcome.error;
      return { output: received(outcome.output), response: {} };
    }, {});
    return (await carryOut({ input: command.input, request: {} })).output;
  };
  const client = { send, config: { systemClockOffset: 0 } } as unknown as DynamoDB as DynamoDBClient;
  return { dynamodb: client, ...TABLES, hasPages: false, close: async () => {} };
}

/** As the SDK hands it out: bytes are no Buffers, and nobody else's. */
function received<T>(value: T): T {
  if (value instanceof Uint8Array) return Uint8Array.from(value) as T;
  if (Array.isArray(value)) return value.map(received) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, received(member)])) as T;
}

type Handler = (args: { input: object; request: object }) => Promise<{ output: object; response: object }>;

interface Command {
  readonly input: object;
  readonly middlewareStack: {
    clone(): {
      add(middleware: (next: Handler) => Handler, options: { name: string; step: 'finalizeRequest' }): void;
      resolve(handler: Handler, context: object): Handler;
    };
  };
}
