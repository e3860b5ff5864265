import { randomBytes } from 'node:crypto';
import { readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openBackboneServer } from '../../local/backbone-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const RAW = { accept: 'application/vnd.kafka.recordbatch' };

// Damage below S3: the checksum that S3 keeps is still the right one, and the SDK would find out before anybody else.
it.each([
  ['a bit is another', (path: string) => readFile(path).then((bytes) => writeFile(path, flipped(bytes)))],
  ['the end is missing', (path: string) => truncate(path, 1_000)],
  ['nothing is left', (path: string) => truncate(path, 0)],
] as const)('tells damage in a stored object on its record alone: %s (F49)', async (_, damage) => {
  const path = temporaryFolder();
  const ignore = () => {};
  const options = { port: 0, path, onRecords: ignore, onExchange: ignore, onFailure: ignore };
  const server = await openBackboneServer(options);
  try {
    const topic = `${server.url}/v1/topics/orders`;
    await fetch(topic, { method: 'PUT', body: '{"partitions":1}', headers: JSON_BODY });
    for (const value of ['before', randomBytes(50_000).toString('base64'), 'after']) {
      const produced = await fetch(`${topic}/records`, {
        method: 'POST',
        headers: JSON_BODY,
        body: JSON.stringify({ records: [{ value }] }),
      });
      expect(produced.status).toBe(200);
    }
    const folder = join(path, 'objects');
    const objects = await readdir(folder);
    expect(objects).toHaveLength(1);
    await damage(join(folder, objects[0]!));

    const read = await fetch(`${topic}/partitions/0/records?offset=0`);
    expect([read.status, await read.json()]).toMatchObject([
      200,
      {
        records: [
          { offset: 0, value: 'before' },
          { offset: 1, error: { code: 'payload_corrupt' } },
          { offset: 2, value: 'after' },
        ],
        nextOffset: 3,
      },
    ]);
    const raw = await fetch(`${topic}/partitions/0/records?offset=1`, { headers: RAW });
    expect(await raw.json()).toMatchObject({ status: 500, code: 'payload_corrupt', nextOffset: 2 });
  } finally {
    await server.close(1_000);
  }
});

function flipped(bytes: Buffer): Buffer {
  bytes[1_000]! ^= 1;
  return bytes;
}
