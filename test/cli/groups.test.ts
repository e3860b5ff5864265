import { describe, expect, it } from 'vitest';
import { lagTable, membersTable } from '../../cli/group-tables.ts';
import { createTopic, produceLines } from '../support/api-client.ts';
import { command, commandLine, startedBackbone } from '../support/command-line.ts';

async function withRecords(count: number, partitions = 2): Promise<string> {
  const { url } = await startedBackbone();
  await createTopic(url, 'orders', { partitions });
  await produceLines(
    url,
    'orders',
    Array.from({ length: count }, (_, i) => `{"id":${i}}`),
    '/id',
  );
  return url;
}

const idsIn = (out: string) =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).value.id as number)
    .sort((a, b) => a - b);

const committedIn = (out: string) =>
  (JSON.parse(out) as { offsets: { committed: number; lag: number }[] }).offsets.reduce(
    (sum, { committed, lag }) => ({ committed: sum.committed + committed, lag: sum.lag + lag }),
    { committed: 0, lag: 0 },
  );

describe('vertebra consume --group', () => {
  it('writes what the group has not had, commits it, and ends once the group has passed what was there', async () => {
    const url = await withRecords(20);
    const first = await command(url, ['consume', 'orders', '--group', 'billing']);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(idsIn(first.out)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    await produceLines(url, 'orders', ['{"id":20}'], '/id');
    const second = await command(url, ['consume', 'orders', '--group', 'billing']);
    expect([second.code, idsIn(second.out)]).toEqual([0, [20]]);
    const described = await command(url, ['groups', 'describe', 'billing', '--json']);
    expect(committedIn(described.out)).toEqual({ committed: 21, lag: 0 });
    expect(JSON.parse(described.out)).toMatchObject({ group: 'billing', members: [] });
  });

  it('commits exactly what --max let through', async () => {
    const url = await withRecords(20, 1);
    const ids: number[] = [];
    for (const max of ['7', '6', '50']) {
      const { code, out } = await command(url, ['consume', 'orders', '--group', 'billing', '--max', max]);
      expect(code).toBe(0);
      ids.push(...idsIn(out));
    }
    expect(ids).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  it('ends with 5 when retention was faster than the group, for nobody will pass what is gone', async () => {
    const { url, advance } = await startedBackbone();
    await createTopic(url, 'orders', { partitions: 1, retentionMs: 3_600_000 });
    await produceLines(url, 'orders', ['{"id":0}', '{"id":1}'], '/id');
    await command(url, ['consume', 'orders', '--group', 'billing', '--max', '1']);
    await advance(2 * 3_600_000);
    await produceLines(url, 'orders', ['{"id":2}'], '/id');
    const { code, out, err } = await command(url, ['consume', 'orders', '--group', 'billing']);
    expect([code, out]).toEqual([5, '']);
    expect(err).toMatch(/^vertebra: orders-0 stands still: 1 is gone, the log begins at 2; "vertebra groups reset"/);
    const reset = ['groups', 'reset', 'billing', 'orders', '--to', 'earliest'];
    expect(await command(url, reset)).toMatchObject({ code: 0 });
    expect(idsIn((await command(url, ['consume', 'orders', '--group', 'billing'])).out)).toEqual([2]);
  });

  it('commits what was written, and leaves, on Ctrl-C', async () => {
    const url = await withRecords(5, 1);
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('consume', 'orders', '--group', 'billing', '--follow');
    await expect.poll(() => idsIn(line.out()), { timeout: 10_000 }).toEqual([0, 1, 2, 3, 4]);
    line.interrupt();
    expect(await running).toBe(130);
    const { out } = await command(url, ['groups', 'describe', 'billing', '--json']);
    expect(JSON.parse(out)).toMatchObject({ members: [], offsets: [{ committed: 5, lag: 0 }] });
  });

  it('begins where it is told when the group never did', async () => {
    const url = await withRecords(5, 1);
    const latest = await command(url, ['consume', 'orders', '--group', 'late', '--from', 'latest']);
    expect(latest).toEqual({ code: 0, out: '', err: '' });
    await produceLines(url, 'orders', ['{"id":5}'], '/id');
    expect(idsIn((await command(url, ['consume', 'orders', '--group', 'late'])).out)).toEqual([5]);
  });

  it('ends with 3 when there is no such topic', async () => {
    const url = await withRecords(1);
    expect(await command(url, ['consume', 'nothing', '--group', 'billing'])).toMatchObject({ code: 3, out: '' });
  });
});

describe('vertebra groups', () => {
  it('lists, describes, resets and deletes', async () => {
    const url = await withRecords(6, 1);
    await command(url, ['consume', 'orders', '--group', 'billing', '--max', '4']);
    expect(await command(url, ['groups', 'list'])).toEqual({ code: 0, out: 'billing\n', err: '' });
    expect((await command(url, ['groups', 'describe', 'billing'])).out).toBe(
      [
        'billing: no live members',
        '',
        'TOPIC   PARTITION  COMMITTED  END  LAG',
        'orders          0          4    6    2',
        'Lag in all: 2',
        '',
      ].join('\n'),
    );
    const reset = ['groups', 'reset', 'billing', 'orders', '--to'];
    expect(await command(url, [...reset, '2'])).toEqual({ code: 0, out: 'orders-0 goes on at 2\n', err: '' });
    expect(await command(url, [...reset, '1h', '--partitions', '0'])).toMatchObject({ out: 'orders-0 goes on at 0\n' });
    const inJson = await command(url, [...reset, 'latest', '--json']);
    expect(JSON.parse(inJson.out)).toMatchObject([{ partition: 0, offset: 6 }]);
    expect(await command(url, ['groups', 'delete', 'billing'])).toMatchObject({ code: 0, err: 'Deleted billing.\n' });
    expect(await command(url, ['groups', 'list', '--json'])).toEqual({ code: 0, out: '[]\n', err: '' });
  });

  it('does not move a group that has live members', async () => {
    const url = await withRecords(1, 1);
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('consume', 'orders', '--group', 'billing', '--follow');
    await expect.poll(line.out, { timeout: 10_000 }).not.toBe('');
    const refused = await command(url, ['groups', 'reset', 'billing', 'orders', '--to', 'earliest']);
    expect(refused).toMatchObject({ code: 5, out: '', err: expect.stringContaining('(409 group_active)') });
    line.interrupt();
    await running;
  });

  it('looks again and again until it is interrupted', async () => {
    const url = await withRecords(3, 1);
    await command(url, ['consume', 'orders', '--group', 'billing']);
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('groups', 'describe', 'billing', '--watch', '0.1');
    await expect.poll(line.out, { timeout: 10_000 }).toContain('Lag in all: 0');
    await produceLines(url, 'orders', ['1', '2'], '');
    await expect.poll(line.out, { timeout: 10_000 }).toContain('Lag in all: 2');
    line.interrupt();
    expect(await running).toBe(130);
  });

  it('ends with 3 when there is no such group', async () => {
    const url = await withRecords(1);
    expect(await command(url, ['groups', 'describe', 'nobody'])).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringContaining('(404 group_not_found)'),
    });
    expect(await command(url, ['groups', 'delete', 'nobody'])).toMatchObject({ code: 3 });
  });

  it.each([
    [['reset', 'g', 'orders'], "required option '--to <place>' not specified"],
    [['reset', 'g', 'orders', '--to', 'soon'], "option '--to <place>' argument 'soon' is invalid"],
    [['reset', 'g', 'orders', '--to', '1', '--partitions', 'all'], "option '--partitions <numbers>' argument 'all' is"],
    [['describe', 'g', '--watch', 'often'], "--watch must be a number of seconds, not 'often'"],
    [['delete'], "missing required argument 'group'"],
  ])('ends with 2 when it is called wrongly: %j', async (args, complaint) => {
    const result = await command('http://127.0.0.1:1', ['groups', ...args]);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toContain(complaint);
  });
});

describe('the tables of a group', () => {
  const assigned = [7, 2, 0, 1, 3].map((partition) => ({ topic: 'orders', partition }));
  const member = { memberId: '01M', lastSeenAt: 1_767_225_600_000 };

  it('name members, and partitions as ranges', () => {
    const members = [
      { ...member, instanceId: 'web-1', assigned: [...assigned, { topic: 'payments', partition: 2 }] },
      { ...member, memberId: '01N', assigned: [] },
    ];
    expect(membersTable({ group: 'billing', members, offsets: [] })).toEqual([
      'MEMBER  INSTANCE  LAST SEEN                 PARTITIONS',
      '01M     web-1     2026-01-01T00:00:00.000Z  orders 0-3, 7; payments 2',
      '01N     -         2026-01-01T00:00:00.000Z  none',
    ]);
  });

  it('tell what was never committed, and the sum', () => {
    const offsets = [
      { topic: 'orders', partition: 0, committed: 1_000, highWatermark: 12_000, lag: 11_000 },
      { topic: 'orders', partition: 1, highWatermark: 5, lag: 5 },
    ];
    expect(lagTable(offsets)).toEqual([
      'TOPIC   PARTITION  COMMITTED     END     LAG',
      'orders          0      1,000  12,000  11,000',
      'orders          1          -       5       5',
      'Lag in all: 11,005',
    ]);
    expect(lagTable(offsets.map((offset) => ({ ...offset, ...(offset.partition === 1 && { parked: 3 }) })))).toEqual([
      'TOPIC   PARTITION  COMMITTED     END     LAG  PARKED',
      'orders          0      1,000  12,000  11,000       -',
      'orders          1          -       5       5       3',
      'Lag in all: 11,005',
    ]);
    expect(lagTable([])).toEqual(['It has no positions yet.']);
  });
});
