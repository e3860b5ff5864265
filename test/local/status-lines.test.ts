import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StatusLines, type TopicFacts } from '../../local/status-lines.ts';
import { Terminal } from '../../local/terminal.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function statusLines(isTTY: boolean, topics: Record<string, TopicFacts> = {}) {
  const facts = new Map(Object.entries({ T1: { name: 'orders', partitions: 8 }, ...topics }));
  const written: string[] = [];
  const describe = vi.fn(async () => new Map(facts));
  const lines = new StatusLines(new Terminal({ write: (text) => written.push(text), isTTY, columns: 80 }), describe);
  return { lines, facts, describe, written: () => written.splice(0) };
}

describe('status lines on a pipe', () => {
  it('come once per topic and 10 s, only when something changed', async () => {
    const { lines, written } = statusLines(false, { T2: { name: 'users', partitions: 1_024 } });
    lines.count('T1', 'in', 1_204);
    lines.count('T1', 'out', 1_180);
    lines.count('T2', 'in', 1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(written()).toEqual([
      'orders  1,204 records in · 1,180 out · 8 partitions\n',
      'users  1 records in · 0 out · 1,024 partitions\n',
    ]);
    for (let i = 0; i < 8; i += 1) {
      lines.count('T1', 'out', 1);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(written()).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(written()).toEqual(['orders  1,204 records in · 1,188 out · 8 partitions\n']);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(written()).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ask for the topics again only when one is unknown or 10 s have passed', async () => {
    const { lines, facts, describe, written } = statusLines(false);
    lines.count('T1', 'in', 1);
    await vi.advanceTimersByTimeAsync(1_000);
    facts.set('T1', { name: 'orders', partitions: 16 });
    lines.count('T1', 'in', 1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(written().at(-1)).toBe('orders  2 records in · 0 out · 16 partitions\n');
    expect(describe).toHaveBeenCalledTimes(2);
  });

  it('forget a topic that was deleted, and wait for better times when topics cannot be listed', async () => {
    const { lines, facts, describe, written } = statusLines(false);
    lines.count('gone', 'in', 1);
    describe.mockRejectedValueOnce(new Error('not now'));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(written()).toEqual([]);
    lines.count('T1', 'in', 1);
    facts.delete('gone');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(written()).toEqual(['orders  1 records in · 0 out · 8 partitions\n']);
  });

  it('tell what was held back when they are closed, and nothing after', async () => {
    const { lines, written } = statusLines(false);
    lines.count('T1', 'in', 1);
    await vi.advanceTimersByTimeAsync(1_000);
    lines.count('T1', 'in', 1);
    lines.count('unheard-of', 'in', 1);
    written();
    lines.close();
    expect(written()).toEqual(['orders  2 records in · 0 out · 8 partitions\n']);
    lines.count('T1', 'in', 1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(written()).toEqual([]);
  });
});

describe('status lines on a terminal', () => {
  it('are rewritten in place, by name, soon after something happened', async () => {
    const { lines, written } = statusLines(true, { T0: { name: 'zebras', partitions: 1 } });
    lines.count('T0', 'in', 1);
    lines.count('T1', 'in', 2);
    await vi.advanceTimersByTimeAsync(250);
    expect(written()).toEqual([
      'orders  2 records in · 0 out · 8 partitions\nzebras  1 records in · 0 out · 1 partitions\n',
    ]);
    lines.count('T0', 'out', 1);
    await vi.advanceTimersByTimeAsync(250);
    expect(written()).toEqual([
      '\u001b[2F\u001b[Jorders  2 records in · 0 out · 8 partitions\nzebras  1 records in · 1 out · 1 partitions\n',
    ]);
  });

  it('show the ten topics that were active last', async () => {
    const topics = Object.fromEntries(
      Array.from({ length: 12 }, (_, i) => [`X${i}`, { name: `topic-${String(i).padStart(2, '0')}`, partitions: 1 }]),
    );
    const { lines, written } = statusLines(true, topics);
    for (const topicId of Object.keys(topics)) lines.count(topicId, 'in', 1);
    lines.count('X0', 'in', 1);
    await vi.advanceTimersByTimeAsync(250);
    const shown = written()[0]!.trimEnd().split('\n');
    expect(shown.map((line) => line.split(' ')[0])).toEqual([
      'topic-00',
      ...Array.from({ length: 9 }, (_, i) => `topic-${String(i + 3).padStart(2, '0')}`),
      'and',
    ]);
    expect(shown.at(-1)).toBe('and 2 more');
  });
});
