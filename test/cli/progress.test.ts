import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { openProgress } from '../../cli/progress.ts';

function screen(isTTY: boolean) {
  let text = '';
  const output = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  // What a terminal has beyond a stream, as far as a bar needs it.
  const cursorTo = () => true;
  const tty = { isTTY, columns: 120, cursorTo, moveCursor: cursorTo, clearLine: cursorTo };
  return { output: Object.assign(output, tty), text: () => text };
}

describe('progress', () => {
  it('is a line every 5 s where lines cannot be rewritten', async () => {
    const { output, text } = screen(false);
    let now = 0;
    const progress = await openProgress(output, 1_000, () => now);
    for (now = 1_000; now <= 11_000; now += 1_000) progress.update({ records: now * 2, bytes: 1 });
    progress.stop();
    expect(text()).toBe('10,000 records · 2,000 records/s\n20,000 records · 2,000 records/s\n');
  });

  it('is a bar with rate and remaining time on a terminal', async () => {
    const { output, text } = screen(true);
    let now = 0;
    const progress = await openProgress(output, 1_000, () => now);
    now = 2_000;
    progress.update({ records: 5_000, bytes: 250 });
    await expect.poll(text).toContain('25 %');
    progress.stop();
    expect(text()).toMatch(/█+░+ 25 % · 5,000 records · 2,500 records\/s · ETA \S+/);
  });

  it('shows no share of what nobody knows the size of', async () => {
    const { output, text } = screen(true);
    let now = 0;
    const progress = await openProgress(output, undefined, () => now);
    now = 1_000;
    progress.update({ records: 70, bytes: 250 });
    await expect.poll(text).toContain('70 records · 70 records/s');
    progress.stop();
    expect(text()).not.toMatch(/%|ETA|NaN/);
  });
});
