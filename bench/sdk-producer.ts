import type { Producer } from '../client/producer.ts';
import type { Message, ProducerOptions } from '../client/producer-words.ts';
import { Vertebra } from '../client/vertebra.ts';
import { startChild } from './child.ts';
import { orderEvents } from './event.ts';
import { rateOf } from './rate.ts';
import type { ServerAnswer } from './sdk-producer-process.ts';
import { median, type Progress, type Section, tableOf } from './section.ts';

const PARTITIONS = [1, 8];
const ROUNDS = 3;
const SINGLE_MS = 1_000;
/** Events that are handed over at once, each in a call of its own: several times what the buffer holds. */
const EVENTS = 8_000;
const BUFFER_BYTES = 4 * 1024 * 1024;
const RATIO_TARGET = 10;

interface Row {
  readonly partitions: number;
  readonly singlePerSecond: number;
  readonly lingeringPerSecond: number;
  readonly batchedPerSecond: number;
  readonly ratio: number;
  readonly peakBytes: number;
  readonly bufferBytes: number;
}

const HEADS = {
  partitions: 'partitions',
  singlePerSecond: 'one by one/s',
  lingeringPerSecond: 'and lingering/s',
  batchedPerSecond: 'batched/s',
  ratio: 'ratio',
  peakBytes: 'peak of buffer',
  bufferBytes: 'of',
};

/** The SDK's producer over HTTP to a backbone in another process: events sent one by one beside events sent at will. */
export async function measureSdkProducer(progress: Progress): Promise<Section> {
  const child = startChild('sdk-producer-process.ts');
  try {
    const { url } = await child.ask<ServerAnswer>({});
    const client = new Vertebra({ endpoint: url });
    const rows: Row[] = [];
    for (const partitions of PARTITIONS) {
      progress(`${partitions} partitions`);
      rows.push(await measure(client, partitions));
    }
    const worst = Math.min(...rows.map(({ ratio }) => ratio));
    return {
      title: 'the producer of the SDK, orders of 1 KB, to a backbone on loopback',
      tables: [tableOf('one producer in one process, the backbone in another', HEADS, rows)],
      laws: [
        {
          law: 'what a producer buffers stays within maxBufferBytes',
          broken: rows
            .filter(({ peakBytes, bufferBytes }) => peakBytes > bufferBytes)
            .map(({ partitions, peakBytes }) => `${partitions} partitions: ${peakBytes} bytes`),
        },
      ],
      notes: [
        `ratio: batched by one by one ≥ ${RATIO_TARGET}: ${worst >= RATIO_TARGET ? 'met' : 'MISSED'}`,
        'one by one: lingerMs 0, each call awaited before the next. Lingering: the same with the default of 5 ms.',
      ],
    };
  } finally {
    await child.close();
  }
}

async function measure(client: Vertebra, partitions: number): Promise<Row> {
  const topic = `sdk-${partitions}`;
  await client.admin().createTopics({ topics: [{ topic, numPartitions: partitions }] });
  const messages = orderEvents(1_000);
  const singles: number[] = [];
  const lingering: number[] = [];
  const batched: number[] = [];
  const ratios: number[] = [];
  let peakBytes = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const single = await withProducer(client, { lingerMs: 0 }, (producer) => oneByOne(producer, topic, messages));
    const linger = await withProducer(client, {}, (producer) => oneByOne(producer, topic, messages));
    const all = await withProducer(client, { maxBufferBytes: BUFFER_BYTES }, (producer) =>
      atOnce(producer, topic, messages),
    );
    if (round === 0) continue; // warms up
    singles.push(single);
    lingering.push(linger);
    batched.push(all.perSecond);
    ratios.push(all.perSecond / single);
    peakBytes = Math.max(peakBytes, all.peakBytes);
  }
  return {
    partitions,
    singlePerSecond: Math.round(median(singles)),
    lingeringPerSecond: Math.round(median(lingering)),
    batchedPerSecond: Math.round(median(batched)),
    ratio: median(ratios),
    peakBytes,
    bufferBytes: BUFFER_BYTES,
  };
}

async function withProducer<R>(
  client: Vertebra,
  options: ProducerOptions,
  act: (producer: Producer) => Promise<R>,
): Promise<R> {
  await using producer = client.producer(options);
  return await act(producer);
}

function oneByOne(producer: Producer, topic: string, messages: readonly Message<unknown>[]): Promise<number> {
  let next = 0;
  return rateOf(() => producer.send({ topic, messages: [messages[next++ % messages.length]!] }), 1, SINGLE_MS);
}

async function atOnce(producer: Producer, topic: string, messages: readonly Message<unknown>[]) {
  let peakBytes = 0;
  let running = true;
  const look = () => {
    peakBytes = Math.max(peakBytes, producer.bufferedBytes);
    if (running) setImmediate(look);
  };
  look();
  const begun = performance.now();
  const sends = Array.from({ length: EVENTS }, (_, i) =>
    producer.send({ topic, messages: [messages[i % messages.length]!] }),
  );
  await Promise.all(sends);
  const perSecond = (EVENTS * 1_000) / (performance.now() - begun);
  running = false;
  return { perSecond, peakBytes };
}
