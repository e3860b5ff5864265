import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { LAMBDA_ANSWER_BYTES_MAX, REQUEST_BYTES_MAX } from '../../shared/domain/limits.ts';
import { openFetchAnswer } from '../../shared/wire/fetch-answer.ts';
import { toGatewayResult } from '../../shared/wire/http-answer.ts';
import { encodeShares, shareOut } from '../../shared/wire/produce-batches.ts';
import { parseProduceBody } from '../../shared/wire/produce-request.ts';

/** Lines whose keys, so far from their copies in the values that no compression finds them, come on top of the values. */
function lines(bytes: number): Buffer {
  const LINE_BYTES = 40_000;
  const count = Math.floor(bytes / LINE_BYTES);
  const line = () =>
    `{"k":"${randomBytes(LINE_BYTES)
      .toString('base64')
      .slice(0, LINE_BYTES - 9)}"}\n`;
  return Buffer.from(Array.from({ length: count }, line).join(''));
}

function batchOf(body: Buffer) {
  const { records, json } = parseProduceBody(body, 'application/x-ndjson', '/k');
  const placement = { partitions: 1, keyless: 0, takenAt: 1 };
  return encodeShares(shareOut(records, placement), 1, json, new Map()).get(0)!;
}

it('stores no batch that nobody could read as it is: one with its keys taken out of its values may be larger than its request', () => {
  const body = lines(REQUEST_BYTES_MAX);
  expect(body.length).toBeLessThanOrEqual(REQUEST_BYTES_MAX);
  expect(() => batchOf(body)).toThrow(expect.objectContaining({ code: 'request_too_large' }));
});

it('the largest that it stores can be read as it is', () => {
  const batch = batchOf(lines(3_080_000));
  expect(batch.bytes.length).toBeGreaterThan(4_600_000);
  const answer = openFetchAnswer({
    topic: 'orders',
    partition: 0,
    as: 'application/vnd.kafka.recordbatch',
    maxRecords: 1,
    maxBytes: 1,
    values: 'json',
  });
  const slot = {
    kind: 'batch',
    ...batch,
    batch: batch.bytes,
    last: batch.count - 1,
    at: 1,
    expiresAt: 0,
    previous: [],
    append: '',
  } as const;
  answer.take({ ...slot, uploads: new Map() }, 0);
  const findings = { topicId: 'id', nextOffset: batch.count, logStartOffset: 0, highWatermark: batch.count };
  const { body } = toGatewayResult(answer.finish(findings), undefined);
  expect(body!.length).toBeLessThan(LAMBDA_ANSWER_BYTES_MAX);
});
