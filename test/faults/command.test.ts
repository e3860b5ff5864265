import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const TSX = fileURLToPath(new URL('../../node_modules/tsx/dist/cli.mjs', import.meta.url));
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const DEADLINE_MS = 60_000;

function run(...args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const options = { timeout: DEADLINE_MS, maxBuffer: 64 * 1024 * 1024 };
    execFile(process.execPath, [TSX, MAIN, ...args], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

it('runs the seeds that it is asked for, and says which, and how often each situation was met', async () => {
  const { code, output } = await run('--seeds', '40', '--from', '7');
  expect(output).toContain('seeds 7 to 46');
  expect(output).toMatch(/\d+ {2}void put/);
  expect(output).toContain('40 histories');
  expect(code).toBe(0);
});

it('tells one history from its beginning to its end', async () => {
  const { code, output } = await run('--seed', '7');
  expect(output).toMatch(/h1 PutItem/);
  expect(output).toContain("seed 7, 'retention changes': nothing was violated");
  expect(code).toBe(0);
});

it('refuses a number that is none', async () => {
  const { code, output } = await run('--seeds', 'many');
  expect(output).toContain("'many' is not a number");
  expect(code).toBe(2);
});

it('goes on until it is stopped, and then reports', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN, '--long'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await expect.poll(() => output, { timeout: DEADLINE_MS }).toMatch(/[1-9]\d* histories/);
  child.kill('SIGINT');
  const [code] = await once(child, 'close');
  expect(output).toMatch(/seeds 1 to \d+/);
  expect(code).toBe(0);
});
