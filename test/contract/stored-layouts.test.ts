import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VERSION } from '../../shared/wire/version.ts';
import { type Dump, folderOf, isReleased, LAYOUTS, readDump } from '../fixtures/layouts/dump.ts';
import { KINDS, kindsOf } from '../fixtures/layouts/kinds.ts';
import { answersOf, opened } from '../fixtures/layouts/opened.ts';
import type { Api } from '../support/api.ts';

const VERSIONS = readdirSync(LAYOUTS, { withFileTypes: true }).filter((entry) => entry.isDirectory());

it('what this version stores is recorded', () => {
  expect(VERSIONS.map(({ name }) => join(LAYOUTS, name))).toContain(folderOf(VERSION));
  const { log, state } = readDump(folderOf(VERSION));
  const kinds = new Set([...log, ...state].flatMap(kindsOf));
  expect(KINDS.map(([name]) => name).filter((name) => !kinds.has(name))).toEqual([]);
});

it('every key that the tables of keys tell is among what is recorded', () => {
  const { log, state } = readDump(folderOf(VERSION));
  const stored = [...log, ...state].map((item) => item.pk?.S ?? item.log?.S ?? '');
  const sources = readdirSync('shared/store').filter((name) => name.endsWith('keys.ts'));
  const told = sources.flatMap((name) => [
    ...readFileSync(join('shared/store', name), 'utf8').matchAll(/^ \* .*\b(?:pk|log)=((?:<[^>]*>|[^\s,<])+)/gm),
  ]);
  const missing = told
    .map(([, key]) => key!)
    .filter((key) => {
      const pattern = key.replace(/[.]/g, '\\.').replace(/<[^>]*>/g, '.+');
      return !stored.some((each) => new RegExp(`^${pattern}$`).test(each));
    });
  expect(told.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

it('what a released version has stored is not recorded anew', () => {
  const changelog = '# Changelog\n\n## [Unreleased]\n\n## [0.1.2] - 2026-12-01\n';
  expect(isReleased('0.1.0', changelog)).toBe(true);
  expect(['0.2.0', '0.10.0', '1.1.0'].filter((version) => isReleased(version, changelog))).toEqual([]);
});

describe.each(VERSIONS.map(({ name }) => name))('what %s has stored', (name) => {
  let dump: Dump;
  let api: Api;
  beforeEach(async () => {
    dump = readDump(join(LAYOUTS, name));
    api = await opened(dump);
  });
  afterEach(() => api.close());

  it('is read as it was: records, groups, subscriptions, dead letters, keys', async () => {
    expect(await answersOf(api)).toEqual(dump.answers);
  });

  it('is gone on with: appends, idempotent repeats, members, commits, dead letters, subscriptions', async () => {
    const post = async (path: string, body: object, headers = {}) => {
      const reply = await api.post(path, body, headers);
      expect([path, reply.status]).toEqual([path, expect.toSatisfy((status: number) => status < 300)]);
      return reply.status === 204 ? ({} as Record<string, unknown>) : reply.json<Record<string, unknown>>();
    };
    const bounds = dump.answers.find(({ path }) => path === '/v1/topics/orders/partitions')!.body as {
      partitions: { highWatermark: number }[];
    };
    const next = bounds.partitions[0]!.highWatermark;
    const record = { key: 'order-3', value: 'once', partition: 1 };
    const repeated = await post('/v1/topics/orders/records', { records: [record] }, { 'Idempotency-Key': 'order-3' });
    expect(repeated).toMatchObject({ duplicate: true, offsets: [{ offset: 0 }] });
    const appended = await post('/v1/topics/orders/records', { records: [{ value: 'new', partition: 0 }] });
    expect(appended).toMatchObject({ offsets: [{ offset: next }] });
    const poll = { topics: ['orders'], instanceId: 'billing-1', sessionTimeoutMs: 1_800_000 };
    const joined = await post('/v1/groups/billing/poll', { memberId: null, ...poll });
    const records = joined.records as { topic: string; partition: number; offset: number }[];
    expect(records).toContainEqual(expect.objectContaining({ topic: 'orders', partition: 0, offset: next }));
    await post('/v1/subscriptions/letters/resume', {});
    const letters = await post('/v1/subscriptions/letters/dead-letters/redrive', { filter: {} });
    expect(letters).toMatchObject({ redriving: expect.any(Number) });
    for (const path of ['/v1/topics/orders', '/v1/groups/spare', '/v1/subscriptions/failing']) {
      expect([path, (await api.delete(path)).status]).toEqual([path, 204]);
    }
  });
});
