import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { DeliveryFenced } from '../../../client/effects/errors.ts';
import { type DeliveredRecord, deliveriesOf, type LambdaEvent } from '../../../client/effects/lambda.ts';
import { type OnceOptions, processOnce } from '../../../client/effects/process-once.ts';
import type { DeliveryBatch } from '../../../shared/domain/delivery.ts';
import { kafkaEvent, kafkaRecord } from '../../../shared/wire/kafka-event.ts';
import { Host } from '../simulator/host.ts';
import { TABLES } from '../simulator/tables.ts';
import { lineOf } from './history.ts';
import type { PushRun } from './push-run.ts';

/** Processes of one function at a time. */
const PROCESSES = 2;
const STANDS_STILL_MS = [500, 5_000, 40_000, 16 * 60_000];

/** A function that processes each record once, by processes of its own that die and stand still. */
export class OnceFunction {
  readonly #run: PushRun;
  readonly #name: string;
  readonly #processes: FunctionProcess[] = [];
  #started = 0;

  constructor(run: PushRun, name: string) {
    this.#run = run;
    this.#name = name;
  }

  /**
   * @param isDone which of the call's records it processes
   * @returns what it failed with, if it did; `died`: whether anybody tells is not said
   */
  async call(
    batch: DeliveryBatch,
    isDone: (offset: number) => boolean,
    workMs: number,
  ): Promise<'done' | 'died' | Error> {
    const process = this.#process();
    this.#harm(process.host, workMs);
    const event = kafkaEvent(
      batch,
      batch.records.map((record) => kafkaRecord(batch, record)),
    );
    const deliveries = deliveriesOf(JSON.parse(event) as LambdaEvent).filter(({ record }) => isDone(record.offset));
    const pauseMs = workMs / (deliveries.length + 1);
    const isParallel = this.#run.random.chance(0.2);
    const work = async (): Promise<'done'> => {
      await process.options.surroundings.sleep(pauseMs);
      if (isParallel) await all(deliveries.map((delivered) => this.#once(process, batch, delivered)));
      else {
        for (const delivered of deliveries) {
          await this.#once(process, batch, delivered);
          await process.options.surroundings.sleep(pauseMs);
        }
      }
      return 'done';
    };
    return Promise.race([work().catch((error: Error) => error), process.host.died.then(() => 'died' as const)]);
  }

  async #once({ options }: FunctionProcess, batch: DeliveryBatch, delivered: DeliveredRecord): Promise<void> {
    const line = lineOf({ ...batch, groupId: batch.group.id });
    try {
      const { done } = await processOnce(delivered, [effectOf(line, delivered.record.offset)], options);
      this.#run.saw(done ? 'effect done' : 'effect found done');
    } catch (error) {
      if (error instanceof DeliveryFenced) this.#run.saw('effect fenced');
      throw error;
    }
  }

  /** No process of before is used any more, or goes on. */
  end(): void {
    for (const { host } of this.#processes) host.crash();
  }

  #process(): FunctionProcess {
    const { world, random } = this.#run;
    const alive = this.#processes.filter(({ host }) => host.alive);
    this.#processes.splice(0, this.#processes.length, ...alive);
    const known = alive[random.between(0, PROCESSES - 1)];
    if (known !== undefined) return known;
    const skewMs = world.isCalm ? 0 : random.between(-this.#run.environment.skewMs, this.#run.environment.skewMs);
    const name = `${this.#name}.${++this.#started}`;
    const host = new Host(name, skewMs, world.scheduler, world.random, world, Number.MAX_SAFE_INTEGER);
    this.#run.spoil(host);
    const surroundings = { now: () => host.now(), random: () => world.chance(), sleep: host.backbone.sleep };
    const made = { host, options: { dynamodb: host.dynamodb, stateTable: TABLES.stateTable, surroundings } };
    this.#processes.push(made);
    return made;
  }

  /** Any moment will do, also in mid-transaction. */
  #harm(host: Host, workMs: number): void {
    const { world, random, environment } = this.#run;
    if (world.isCalm) return;
    const moment = random.between(0, workMs + 200);
    if (random.chance(environment.dies)) {
      world.scheduler.after(moment, '', () => {
        if (!host.alive) return;
        this.#run.saw('function died');
        host.crash();
      });
    } else if (random.chance(environment.standsStill)) {
      world.scheduler.after(moment, '', () => {
        this.#run.saw('function stood still');
        host.freeze(random.pick(STANDS_STILL_MS));
      });
    }
  }
}

interface FunctionProcess {
  readonly host: Host;
  readonly options: Required<OnceOptions>;
}

/** Adds one to a counter of the record's own: what happens twice shows. */
function effectOf(line: string, offset: number): TransactWriteItem {
  return {
    Update: {
      TableName: 'user',
      Key: { pk: { S: line }, sk: { S: String(offset) } },
      UpdateExpression: 'ADD times :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
    },
  };
}

/** Waits for all of them, then throws what the first threw. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
