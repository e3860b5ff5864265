import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { PackagedFunction, type PackagedFunctionOptions } from '../../../local/assembly/packaged-function.ts';

const folder = mkdtempSync(join(tmpdir(), 'vertebra-packaged-'));
const made: PackagedFunction[] = [];
afterEach(() => Promise.all(made.splice(0).map((fn) => fn.close())));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let packages = 0;
/** However busy the machine is. */
const SOON = { timeout: 20_000 };

/** A function whose package is this module. */
function functionOf(source: string, more: Partial<PackagedFunctionOptions> = {}) {
  const name = `package-${packages++}`;
  writeFileSync(join(folder, `${name}.mjs`), source);
  const lines: string[] = [];
  const fn = new PackagedFunction({
    ...{
      name,
      arn: `arn:${name}`,
      folder,
      handler: `${name}.handler`,
      timeoutMs: 20_000,
      memoryMb: 128,
      concurrency: 2,
    },
    ...{ variables: { WHO: 'me' }, endpoint: 'http://127.0.0.1:1', api: { host: 'a.test', url: 'http://127.0.0.1:1' } },
    ...{ clock: new SharedArrayBuffer(8), onLog: (line) => lines.push(line), onLogs: () => {} },
    ...more,
  });
  made.push(fn);
  const call = async (event: unknown = {}) => {
    const { payload, failed } = await fn.invoke(JSON.stringify(event));
    return { failed, answer: JSON.parse(payload) };
  };
  return { call, lines };
}

describe('a packaged function', () => {
  it('is called with the event, its own variables and what Lambda tells of the call', async () => {
    const { call, lines } = functionOf(`
      console.log('loading');
      export const handler = async (event, context) => ({
        event, variables: process.env, arn: context.invokedFunctionArn, left: context.getRemainingTimeInMillis() > 1_000,
      });`);
    expect(await call({ a: [1] })).toEqual({
      failed: false,
      answer: { event: { a: [1] }, variables: { WHO: 'me' }, arn: 'arn:package-0', left: true },
    });
    await expect.poll(() => lines, SOON).toEqual(['loading']);
  });

  it('keeps what it has loaded from one call to the next, and handles one at a time', async () => {
    const { call } = functionOf(`
      let calls = 0, atWork = 0;
      export const handler = async () => {
        const alone = ++atWork === 1;
        await new Promise((resolve) => setTimeout(resolve, 5));
        atWork -= 1;
        return { calls: ++calls, alone };
      };`);
    await call();
    expect(await call()).toMatchObject({ answer: { calls: 2 } });
    const answers = await Promise.all(Array.from({ length: 8 }, () => call()));
    expect(answers.every(({ answer }) => answer.alone)).toBe(true);
  });

  it.each([
    ['throws', "export const handler = () => { throw new TypeError('no'); };", 'TypeError', 'no'],
    [
      'exports no handler',
      'export const other = 1;',
      'Runtime.HandlerNotFound',
      'handler is undefined or not exported',
    ],
    ['cannot be loaded', "throw new Error('broken');", 'Error', 'broken'],
    ['ends itself', 'export const handler = () => process.exit(3);', 'Runtime.ExitError', 'exit status 3'],
  ])('that %s answers as Lambda does', async (_, source, errorType, message) => {
    const { failed, answer } = await functionOf(source).call();
    expect(failed).toBe(true);
    expect(answer).toMatchObject({ errorType, errorMessage: expect.stringContaining(message) });
  });

  it('that takes too long is ended, and begins anew at the next call', async () => {
    const { call } = functionOf(
      'let calls = 0; export const handler = ({ stuck }) => stuck ? new Promise(() => setInterval(() => {}, 9)) : ++calls;',
      { timeoutMs: 2_000 },
    );
    expect(await call()).toEqual({ failed: false, answer: 1 });
    expect(await call({ stuck: true })).toMatchObject({ failed: true, answer: { errorType: 'Sandbox.Timedout' } });
    expect(await call()).toEqual({ failed: false, answer: 1 });
  });

  it('lives by the clock of the backbone', async () => {
    const clock = new SharedArrayBuffer(8);
    const { call } = functionOf(
      'export const handler = () => [Date.now(), new Date().getTime(), new Date(5).getTime()];',
      {
        clock,
      },
    );
    new Float64Array(clock)[0] = 3_600_000;
    const before = Date.now();
    const [now, made, given] = (await call()).answer as [number, number, number];
    expect(now).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(made).toBeGreaterThanOrEqual(now);
    expect(given).toBe(5);
  });

  it('reaches AWS by its name, and nobody else’s', async () => {
    const { call } = functionOf(`
      import https from 'node:https';
      const reach = (host) => new Promise((resolve) => {
        https.request({ host, path: '/', method: 'GET' }, () => {}).on('error', ({ port, code }) => resolve(code + ' ' + port)).end();
      });
      export const handler = async () => [await reach('sqs.us-east-1.amazonaws.com'), await reach('127.0.0.2')];`);
    expect((await call()).answer).toEqual(['ECONNREFUSED 1', 'ECONNREFUSED 443']);
  });
});
