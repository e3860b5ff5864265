import { inspect } from 'node:util';
import { expect } from 'vitest';
import { command } from '../support/command-line.ts';

/** What the page that runs has written since it was last asked. One page runs at a time. */
let lines: string[] = [];
let url = '';

/** @param endpoint of the backbone that its commands speak to */
export function beginPage(endpoint: string): void {
  [lines, url] = [[], endpoint];
}

/** Lines that no block of the page tells of. */
export const untold = (): readonly string[] => lines;

const log = (...values: unknown[]) => {
  const text = values.map((value) => (typeof value === 'string' ? value : inspect(value, { breakLength: 100 })));
  lines.push(...text.join(' ').split('\n'));
};
/** In the place of the global one. */
export const console = { log, error: log };

/** Runs a block of commands, each of them this project's own. @throws {Error} when one fails */
export async function shell(commands: string): Promise<void> {
  for (const words of commandsIn(commands)) {
    const { code, out, err } = await command(url, words);
    if (code !== 0) throw new Error(`'${words.join(' ')}' ended with ${code}: ${err}`);
    lines.push(...`${out}${err}`.trimEnd().split('\n'));
  }
}

/** Waits until this, and no more, has been written. `…` stands for anything within a line. */
export async function written(text: string, line: number, timeoutMs = 20_000): Promise<void> {
  const expected = text.split('\n').map((told) => (told.includes('…') ? expect.stringMatching(patternOf(told)) : told));
  await expect.poll(() => lines, { timeout: timeoutMs, interval: 10, message: `line ${line}` }).toEqual(expected);
  lines = [];
}

function patternOf(line: string): RegExp {
  const parts = line.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}

/**
 * The arguments of each `npx vertebra …` in a block.
 * @throws {Error} for any other command, and for what a shell would do more than split words: nothing here would do it
 */
export function commandsIn(block: string): string[][] {
  return block
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/\s#\s.*$/, '').trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, , ...words] = line.match(/'[^']*'|[^\s'"`$|;&<>()*?]+/g) ?? [];
      const rest = line.replace(/'[^']*'|[^\s'"`$|;&<>()*?]+/g, '').trim();
      if (!line.startsWith('npx vertebra ') || rest !== '') throw new Error(`'${line}' cannot be run`);
      return words.map((word) => word.replaceAll("'", ''));
    });
}
