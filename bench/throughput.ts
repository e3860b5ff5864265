import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { produceOrders, putTopic, type Sent } from './backbone.ts';
import { type Child, startChild } from './child.ts';
import { rateOf } from './rate.ts';
import { median, type Progress, type Section, tableOf } from './section.ts';
import type { OpenAnswer, OpenQuestion, PutAnswer, PutQuestion } from './throughput-process.ts';

const BATCHES = [1, 10, 100];
const CONCURRENCIES = [1, 16];
const ROUNDS = 3;
const SLICE_MS = 400;
const WARM_UP_MS = 400;

interface Row {
  readonly storage: string;
  readonly records: number;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  readonly recordsPerSecond: number;
  readonly putsPerSecond: number;
  readonly ratio: number;
}

const HEADS = {
  storage: 'storage',
  records: 'records',
  concurrency: 'at once',
  requestsPerSecond: 'POST/s',
  recordsPerSecond: 'records/s',
  putsPerSecond: 'PutItem/s',
  ratio: 'ratio',
};

/** `POST …/records` over HTTP beside bare PutItems of items as large, on the same engine, in turns. */
export async function measureThroughput(progress: Progress): Promise<Section> {
  const rows: Row[] = [];
  for (const storage of ['memory', 'disk'] as const) {
    const child = startChild('throughput-process.ts');
    const agent = new Agent({ keepAlive: true });
    try {
      const { url } = await child.ask<OpenAnswer>({ storage } satisfies OpenQuestion);
      const server: Server = { child, send: (sent) => send(agent, url, sent) };
      for (const records of BATCHES) {
        progress(`${storage}, ${records} records`);
        rows.push(...(await measure(server, records)).map((rates) => ({ storage, records, ...rates })));
      }
    } finally {
      agent.destroy();
      await child.close();
    }
  }
  return {
    title: 'throughput of POST records over HTTP, beside bare PutItem on the same engine',
    tables: [
      tableOf('one partition, one process for gateway, functions and engine; the client is another', HEADS, rows),
    ],
    laws: [],
    notes: [
      'ratio: POST/s by PutItem/s. A POST does an UpdateItem and a PutItem one after the other, so 0.5 would be free.',
    ],
  };
}

interface Server {
  readonly child: Child;
  send(sent: Sent): Promise<Buffer>;
}

type Rates = Pick<Row, 'concurrency' | 'requestsPerSecond' | 'recordsPerSecond' | 'putsPerSecond' | 'ratio'>;

async function measure({ child, send }: Server, records: number): Promise<Rates[]> {
  const topic = `throughput-${records}`;
  const { id } = JSON.parse((await send(putTopic(topic))).toString()) as { id: string };
  const sent = Array.from({ length: 8 }, (_, seed) => produceOrders(topic, records, seed));
  let next = 0;
  const post = () => send(sent[next++ % sent.length]!);
  const put = async (concurrency: number, timeMs: number) => {
    const question: PutQuestion = { log: `${id}.0`, concurrency, timeMs };
    return (await child.ask<PutAnswer>(question)).perSecond;
  };
  const rows: Rates[] = [];
  for (const concurrency of CONCURRENCIES) {
    await rateOf(post, concurrency, WARM_UP_MS);
    await put(concurrency, WARM_UP_MS);
    const posts: number[] = [];
    const puts: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      posts.push(await rateOf(post, concurrency, SLICE_MS));
      puts.push(await put(concurrency, SLICE_MS));
    }
    const requestsPerSecond = median(posts);
    rows.push({
      concurrency,
      requestsPerSecond: Math.round(requestsPerSecond),
      recordsPerSecond: Math.round(requestsPerSecond * records),
      putsPerSecond: Math.round(median(puts)),
      ratio: median(posts.map((rate, i) => rate / puts[i]!)),
    });
  }
  return rows;
}

/** @throws {Error} when the answer is no success */
async function send(agent: Agent, url: string, { method, target, headers, body }: Sent): Promise<Buffer> {
  const sent = request(url + target, { agent, method, headers: { ...headers, 'content-length': body!.length } });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const answered = Buffer.concat(chunks);
  if (answer.statusCode! < 300) return answered;
  throw new Error(`${method} ${target}: ${answer.statusCode} ${answered}`);
}
