import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type LocalBackbone, type LocalBackboneOptions, startLocalBackbone } from '../../local/embedding.ts';
import { createTopic, produceLines, readPartition } from '../support/api-client.ts';

async function started(options: LocalBackboneOptions = {}): Promise<LocalBackbone> {
  const failures: unknown[] = [];
  const backbone = await startLocalBackbone({
    onFailure: (message, error) => failures.push(message, error),
    ...options,
  });
  onTestFinished(async () => {
    await backbone.dispose();
    expect(failures).toEqual([]);
  });
  return backbone;
}

const HOUR_MS = 3_600_000;

describe('the embedded backbone', () => {
  it('has a URL of its own and data of its own', async () => {
    const [one, other] = await Promise.all([started(), started()]);
    expect(one.url).not.toBe(other.url);
    await createTopic(one.url, 'orders', { partitions: 1 });
    await produceLines(one.url, 'orders', ['1', '2'], '');
    expect(await readPartition(one.url, 'orders', 0)).toMatchObject([{ value: '1' }, { value: '2' }]);
    expect((await fetch(`${other.url}/v1/topics/orders`)).status).toBe(404);
  });

  it('lets AWS clients of others in, to tables beside its own', async () => {
    const backbone = await started();
    const dynamodb = new DynamoDBClient(backbone.clientConfig());
    onTestFinished(() => dynamodb.destroy());
    expect((await dynamodb.send(new ListTablesCommand())).TableNames).toContain(backbone.stateTable);
  });

  it('leaves the environment as it was, however many start at once', async () => {
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO');
    onTestFinished(() => void vi.unstubAllEnvs());
    const first = started();
    await Promise.resolve();
    await Promise.all([first, started()]);
    expect(process.env.POWERTOOLS_LOG_LEVEL).toBe('INFO');
  });

  it('lets retention pass at once, and works on in the time that is set ahead', async () => {
    const backbone = await started();
    await createTopic(backbone.url, 'orders', { partitions: 1, retentionMs: HOUR_MS });
    await produceLines(backbone.url, 'orders', ['"old"'], '');
    await backbone.advance(2 * HOUR_MS);
    const [placed] = await produceLines(backbone.url, 'orders', ['"new"'], '');
    expect(placed).toMatchObject({ partition: 0, offset: 1 });
    const answer = await fetch(`${backbone.url}/v1/topics/orders/partitions/0/records?offset=earliest`);
    const { records } = (await answer.json()) as { records: { timestamp: number }[] };
    expect(records).toMatchObject([{ offset: 1, value: 'new' }]);
    expect(Math.abs(records[0]!.timestamp - backbone.now())).toBeLessThan(30_000);
    expect(Math.abs(backbone.now() - Date.now() - 2 * HOUR_MS)).toBeLessThan(1_000);
  });

  it('ends the session of a member of a group that is not heard of', async () => {
    const { url, advance } = await started();
    await createTopic(url, 'orders', { partitions: 1 });
    const join = { memberId: null, topics: ['orders'], sessionTimeoutMs: 30_000 };
    const body = JSON.stringify(join);
    const headers = { 'content-type': 'application/json' };
    const joined = await fetch(`${url}/v1/groups/billing/poll`, { method: 'POST', headers, body });
    expect(await joined.json()).toMatchObject({ assigned: [{ topic: 'orders', partition: 0 }] });
    const membersNow = async () =>
      ((await (await fetch(`${url}/v1/groups/billing`)).json()) as { members: object[] }).members;
    expect(await membersNow()).toHaveLength(1);
    await advance(60_000);
    expect(await membersNow()).toEqual([]);
  });

  it('waits for records as long as it is asked to, also in time that was set ahead', async () => {
    const { url, advance } = await started();
    await createTopic(url, 'orders', { partitions: 1 });
    await advance(HOUR_MS);
    const waiting = fetch(`${url}/v1/topics/orders/partitions/0/records?offset=0&waitMs=20000`);
    const first = await Promise.race([waiting, fetch(`${url}/v1/topics/orders`)]);
    expect(first.url).toMatch(/orders$/); // the wait is not over
    await produceLines(url, 'orders', ['"at last"'], '');
    expect(await (await waiting).json()).toMatchObject({ records: [{ value: 'at last' }] });
  });

  it('refuses steps that functions would not notice, back or forth', async () => {
    const backbone = await started();
    for (const ms of [-HOUR_MS, 0, 2_999, 3_000.5]) await expect(backbone.advance(ms)).rejects.toThrow(RangeError);
    expect(Math.abs(backbone.now() - Date.now())).toBeLessThan(1_000);
  });

  it('ends once, and is gone then; its port can be used again', async () => {
    const backbone = await startLocalBackbone();
    const port = Number(new URL(backbone.url).port);
    await Promise.all([backbone.dispose(), backbone[Symbol.asyncDispose]()]);
    await expect(fetch(`${backbone.url}/v1/health`)).rejects.toThrow();
    expect((await started({ port })).url).toBe(backbone.url);
  });

  it('refuses a port that is none, or taken', async () => {
    const { url } = await started();
    await expect(startLocalBackbone({ port: Number(new URL(url).port) })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    for (const port of [-1, 65_536, 1.5]) await expect(startLocalBackbone({ port })).rejects.toThrow(RangeError);
  });

  it('leaves the environment as it was', async () => {
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'WARN');
    vi.stubEnv('POWERTOOLS_METRICS_DISABLED', undefined);
    onTestFinished(() => void vi.unstubAllEnvs());
    await started();
    expect(process.env.POWERTOOLS_LOG_LEVEL).toBe('WARN');
    expect('POWERTOOLS_METRICS_DISABLED' in process.env).toBe(false);
  });
});
