import { describe, expect, it, onTestFinished } from 'vitest';
import { CONFIGURATION_CACHE_MS } from '../../shared/domain/limits.ts';
import { createTopic, produceLines } from '../support/api-client.ts';
import { command, commandLine, startedBackbone } from '../support/command-line.ts';
import { openFaultyProxy, problem } from '../support/faulty-proxy.ts';

/** A topic with records, and the URL of its backbone. */
async function withRecords(lines: readonly string[], partitions = 1): Promise<string> {
  const { url } = await startedBackbone();
  await createTopic(url, 'orders', { partitions });
  if (lines.length > 0) await produceLines(url, 'orders', lines, '/id');
  return url;
}

const linesOf = (text: string) => text.split('\n').slice(0, -1);

describe('vertebra consume', () => {
  it('writes all partitions to where they end, each in its order', async () => {
    const sent = Array.from({ length: 300 }, (_, i) => `{"id":"c-${i % 20}","n":${i}}`);
    const url = await withRecords(sent, 4);
    const { code, out, err } = await command(url, ['consume', 'orders', '--format', 'value']);
    expect([code, err]).toEqual([0, '']);
    expect(linesOf(out).sort()).toEqual([...sent].sort());
    const perKey = (lines: readonly string[]) => lines.filter((line) => line.includes('"c-7"'));
    expect(perKey(linesOf(out))).toEqual(perKey(sent));
  });

  it('writes JSON unless it is told otherwise', async () => {
    const url = await withRecords(['{"id":12345678901234567890}']);
    const { out } = await command(url, ['consume', 'orders']);
    expect(out).toContain('"value":{"id":12345678901234567890}');
    expect(JSON.parse(out)).toMatchObject({ topic: 'orders', partition: 0, offset: 0, key: '12345678901234567890' });
  });

  it.each([
    ['earliest', '012'],
    ['latest', ''],
    ['1', '12'],
    ['3', ''],
    ['1h', '012'],
    ['2099-01-01', ''],
  ])('begins where --from says: %s', async (from, offsets) => {
    const url = await withRecords(['1', '2', '3']);
    const args = ['consume', 'orders', '--from', from, '--template', '{offset}'];
    expect(await command(url, args)).toEqual({ code: 0, out: offsets, err: '' });
  });

  it.each(['4', '20260131'])('does not begin above the end of all partitions: %s', async (from) => {
    const url = await withRecords(['1', '2', '3']);
    const { code, out, err } = await command(url, ['consume', 'orders', '--follow', '--from', from]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`--from ${from} lies above the end of orders, which is 3`);
    const one = await command(url, ['consume', 'orders', '--partition', '0', '--from', from]);
    expect(one.err).toContain('the end of orders-0, which is 3');
  });

  it('that follows tells that a topic was deleted and made again, however long the new one is', async () => {
    const { url } = await startedBackbone();
    await createTopic(url, 'orders', { partitions: 1 });
    await produceLines(url, 'orders', ['"old"', '"older"'], '/id');
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('consume', 'orders', '--follow', '--format', 'value');
    await expect.poll(line.out).toBe('"old"\n"older"\n');
    await fetch(`${url}/v1/topics/orders`, { method: 'DELETE' });
    await createTopic(url, 'orders', { partitions: 1 });
    await produceLines(url, 'orders', ['"new"', '"newer"', '"skipped were two"'], '/id');
    expect(await running).toBe(3);
    expect(line.out()).not.toContain('skipped');
  });

  it('ends after as many records as are wanted, of the partition that is wanted', async () => {
    const url = await withRecords(['{"id":"a"}', '{"id":"b"}', '{"id":"c"}', '{"id":"d"}'], 2);
    expect(linesOf((await command(url, ['consume', 'orders', '--max', '3'])).out)).toHaveLength(3);
    const one = await command(url, ['consume', 'orders', '--partition', '1', '--template', '{partition}']);
    expect(one.out).toMatch(/^1+$/);
  });

  it('follows what is appended until it is interrupted', async () => {
    const url = await withRecords(['"old"'], 3);
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('consume', 'orders', '--from', 'latest', '--follow', '--format', 'value');
    await produceLines(url, 'orders', ['"old too"'], '/id'); // perhaps before it has begun
    await expect
      .poll(async () => {
        await produceLines(url, 'orders', ['"new"'], '/id');
        return line.out();
      })
      .toContain('"new"\n');
    line.interrupt();
    expect(await running).toBe(130);
    expect(line.out()).not.toContain('"old"\n');
  });

  it('follows into partitions that are added', async () => {
    const backbone = await startedBackbone();
    const { url } = backbone;
    await createTopic(url, 'orders', { partitions: 1 });
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
    const running = line.run('consume', 'orders', '--follow', '--template', '{partition}');
    await produceLines(url, 'orders', ['1'], '/id');
    await expect.poll(line.out).toBe('0');
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/v1/topics/orders`, { method: 'PUT', headers, body: '{"partitions":2}' });
    await backbone.advance(CONFIGURATION_CACHE_MS + 1);
    const lines = Array.from({ length: 20 }, (_, i) => `{"id":${i}}`);
    const partitions = (await produceLines(url, 'orders', lines, '/id')).map(({ partition }) => partition);
    await expect
      .poll(() => [...line.out()].sort(), { timeout: 5_000 })
      .toEqual(['0', ...partitions.map(String)].sort());
    expect(partitions).toContain(1);
    line.interrupt();
    expect(await running).toBe(130);
  });

  it('notices that the topic it follows was deleted and made again, and that it was deleted', async () => {
    const url = await withRecords(['1', '2', '3']);
    const follow = (...more: string[]) => {
      const line = commandLine({ env: { VERTEBRA_ENDPOINT: url } });
      return { line, running: line.run('consume', 'orders', '--follow', '--template', '{offset}', ...more) };
    };
    const first = follow();
    await expect.poll(first.line.out).toBe('012');
    await fetch(`${url}/v1/topics/orders`, { method: 'DELETE' });
    await createTopic(url, 'orders', { partitions: 1 });
    expect(await first.running).toBe(3);
    expect(first.line.err()).toMatch(/^vertebra: topic orders (was deleted and made again|.*topic_not_found.*)\n$/);
    const second = follow('--from', 'latest');
    await fetch(`${url}/v1/topics/orders`, { method: 'DELETE' });
    expect(await second.running).toBe(3);
  });

  it('goes on at the beginning when retention takes what it is about to read', async () => {
    const proxy = await openFaultyProxy(await withRecords(['1', '2', '3']));
    onTestFinished(() => proxy.close());
    const gone = problem(416, 'offset_out_of_range', { logStartOffset: 1, highWatermark: 3 });
    proxy.fault = ({ target }) => (target.includes('offset=0&') ? gone : undefined);
    const args = ['consume', 'orders', '--format', 'value'];
    expect(await command(proxy.url, args)).toMatchObject({ code: 0, out: '2\n3\n' });
  });

  it('ends with 3 when there is no such topic or partition', async () => {
    const url = await withRecords([]);
    expect(await command(url, ['consume', 'nothing'])).toMatchObject({ code: 3, out: '' });
    expect(await command(url, ['consume', 'orders', '--partition', '1'])).toEqual({
      code: 3,
      out: '',
      err: 'vertebra: topic orders has no partition 1, it has 1\n',
    });
  });

  it.each([
    [['--from', 'yesterday'], "option '--from <place>' argument 'yesterday' is invalid"],
    [['--format', 'json', '--template', '{key}'], '--template needs --format template'],
    [['--template', '{nothing}'], '--template has no {nothing}'],
    [['--max', '0'], "option '--max <number>' argument '0' is invalid"],
    [['--group', 'g', '--partition', '0'], '--partition and --group exclude each other'],
    [['--group', 'g', '--from', '7'], 'with --group, --from is earliest or latest'],
  ])('ends with 2 when it is called wrongly: %j', async (args, complaint) => {
    const result = await command('http://127.0.0.1:1', ['consume', 'orders', ...args]);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toContain(complaint);
  });
});
