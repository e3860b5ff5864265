import type { Container, Sent } from './backbone.ts';
import type { Call, Meter } from './meter.ts';
import { median } from './section.ts';

/** What one request made the functions do. */
export interface Exchange {
  readonly calls: readonly Call[];
  /** Of the request's body, and of the answer's. */
  readonly sentBytes: number;
  readonly answer: Buffer;
}

/** Makes requests one after the other, each metered by itself, also what it did not wait for. */
export async function exchange(meter: Meter, call: Container, requests: readonly Sent[]): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  await meter.takeAll();
  for (const sent of requests) {
    const { body } = await call(sent);
    exchanges.push({ calls: await meter.takeAll(), sentBytes: sent.body?.length ?? 0, answer: body });
  }
  return exchanges;
}

/** The calls of one service. */
export function callsOf(calls: readonly Call[], service: 'DynamoDB' | 'S3'): Call[] {
  return calls.filter((call) => call.service === service);
}

/** Names of the operations, in the order in which they were sent. */
export function operationsOf(calls: readonly Call[]): string {
  return [...calls]
    .sort((a, b) => a.began - b.began)
    .map(({ operation }) => operation)
    .join(', ');
}

/** Bytes of the slot that an append filled: the last item that it put. */
export function slotBytesOf(calls: readonly Call[]): number {
  return calls.findLast(({ operation }) => operation === 'PutItem')?.putBytes ?? Number.NaN;
}

/** Middle value of one figure of requests. */
export function medianOf(exchanges: readonly Exchange[], figure: (exchange: Exchange) => number): number {
  return median(exchanges.map(figure));
}
