import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ModuleFunctions } from '../../local/module-function.ts';
import { deliveryBatch, soon } from '../support/deliveries.ts';
import { target } from '../support/target-ports.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const BATCH = deliveryBatch([{ value: '1' }, { value: '2' }]);

async function functionsOf(source: string): Promise<ModuleFunctions> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'handler.mjs'), source);
  return new ModuleFunctions(folder);
}

async function send(source: string, functionArn = 'file:./handler.mjs', deadline = soon()) {
  return target({ lambda: { functionArn } }, { functions: await functionsOf(source) }).send(BATCH, deadline);
}

describe('a function that is a module', () => {
  it.each([
    ['export const handler = async () => {};', { kind: 'done' }],
    ['export function handler() { return "fine"; }', { kind: 'done' }],
    [
      'export const handler = async (event) => ({ batchItemFailures: [{ itemIdentifier: "orders-3:" + event.records["orders-3"][1].offset }] });',
      { kind: 'failed', at: 42 },
    ],
    [
      'export const handler = async () => { throw new RangeError("too far"); };',
      { kind: 'failed', error: { name: 'RangeError', message: 'too far' } },
    ],
    ['export const handler = () => { throw "text"; };', { kind: 'failed', error: { name: 'string', message: 'text' } }],
    [
      'export const handler = () => 10n;',
      { kind: 'failed', error: { name: 'Runtime.MarshalError', message: expect.stringContaining('BigInt') } },
    ],
    [
      'export const handler = () => ({ toJSON() { throw Object.create(null); } });',
      { kind: 'failed', error: { name: 'Runtime.MarshalError' } },
    ],
    ['export const handler = () => { throw Object.create(null); };', { kind: 'failed', error: { name: 'object' } }],
    ['export const other = 1;', { kind: 'failed', error: { name: 'Runtime.HandlerNotFound' } }],
    ['throw new Error("at load");', { kind: 'failed', error: { message: 'at load' } }],
    ['this is no JavaScript', { kind: 'failed', error: { name: expect.stringMatching(/Error/) } }],
  ])('%s: %j', async (source, expected) => {
    expect(await send(source)).toMatchObject(expected);
  });

  it('may be another export, and knows how long it has', async () => {
    const source =
      'export const second = (event, context) => { if (!(context.getRemainingTimeInMillis() > 1_000)) throw new Error("no time"); };';
    expect(await send(source, 'file:./handler.mjs#second')).toEqual({ kind: 'done' });
    expect(await send(source, 'file:./handler.mjs#second', soon(500))).toMatchObject({ error: { message: 'no time' } });
  });

  it.each(['this is no JavaScript', 'export const handler = () => { throw new Error("not yet mended"); };'])(
    'that was mended (%s) is mended at the next call',
    async (source) => {
      const folder = await temporaryFolder();
      const functions = new ModuleFunctions(folder);
      const call = () => target({ lambda: { functionArn: 'file:./handler.mjs' } }, { functions }).send(BATCH, soon());
      const file = join(folder, 'handler.mjs');
      await writeFile(file, source);
      await utimes(file, 1, 1);
      expect(await call()).toMatchObject({ kind: 'failed' });
      await writeFile(file, 'export const handler = () => {};');
      expect(await call()).toEqual({ kind: 'done' });
    },
  );

  it('that does not answer in time has failed', async () => {
    expect(await send('export const handler = () => new Promise(() => {});', undefined, soon(40))).toMatchObject({
      kind: 'failed',
      error: { name: 'Timeout' },
    });
  });

  it.each(['file:./missing.mjs', 'arn:aws:lambda:eu-central-1:1:function:f', './handler.mjs'])(
    '%s is none, and cannot be called',
    async (functionArn) => {
      expect(await send('export const handler = 1;', functionArn)).toMatchObject({
        kind: 'cannot',
        error: { name: 'ResourceNotFoundException' },
      });
    },
  );
});
