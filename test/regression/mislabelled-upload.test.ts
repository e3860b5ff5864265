import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { openTopicBench } from '../support/topic-bench.ts';
import { announce, sendPayload } from '../support/upload.ts';

const bench = openTopicBench();

it.each([
  ['before it is named', 'gzip'],
  ['after it was named', 'br'],
])('an upload is had byte for byte, whatever its sender says of its encoding and type: %s', async (when, encoding) => {
  const topic = await bench.newTopic();
  const payload = gzipSync('<script>1</script>');
  const announced = await announce(bench.api, topic, payload);
  const label = { 'content-encoding': encoding, 'content-type': 'text/html' };
  const labelled = { ...announced, headers: { ...announced.headers, ...label } };
  expect((await sendPayload(when.startsWith('before') ? labelled : announced, payload)).status).toBe(200);
  const value = { uploadId: announced.uploadId };
  const produced = await bench.api.post(`${topic}/records`, { records: [{ value, valueEncoding: 'upload' }] });
  expect(produced.status).toBe(200);
  // The URL is good for an hour, also when a record has the upload.
  if (when.startsWith('after')) expect((await sendPayload(labelled, payload)).status).toBe(200);

  const { records } = await bench.fetched(topic);
  const got = await fetch((records[0]!.value as { url: string }).url);
  expect([got.status, got.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
  expect(Buffer.from(await got.arrayBuffer())).toEqual(payload);
});
