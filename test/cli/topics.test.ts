import { describe, expect, it } from 'vitest';
import { command, startedBackbone } from '../support/command-line.ts';

describe('vertebra topics', () => {
  it('creates, lists, describes and deletes', async () => {
    const { url } = await startedBackbone();
    const created = await command(url, ['topics', 'create', 'orders', '--partitions', '2', '--retention', '12h']);
    expect(created).toEqual({ code: 0, out: 'orders: 2 partitions, kept for 12 h\n', err: '' });
    await command(url, ['topics', 'create', 'for-ever', '--retention', 'forever']);
    const listed = await command(url, ['topics', 'list']);
    expect(listed).toMatchObject({ code: 0, err: '' });
    expect(listed.out.split('\n').map((line) => line.replace(/\S+Z$/, '<time>'))).toEqual([
      'TOPIC     PARTITIONS  RECORDS        CREATED',
      'for-ever           8  kept for ever  <time>',
      'orders             2  kept for 12 h  <time>',
      '',
    ]);
    await command(url, ['produce', 'orders', '--partition', '1'], { input: 'a\nb\n' });
    expect((await command(url, ['topics', 'describe', 'orders'])).out).toBe(
      [
        'orders: 2 partitions, kept for 12 h',
        'PARTITION  START  END  OFFSETS',
        '        0      0    0        0',
        '        1      0    2        2',
        '',
      ].join('\n'),
    );
    expect(await command(url, ['topics', 'delete', 'orders', 'for-ever'])).toEqual({
      code: 0,
      out: '',
      err: 'Deleted orders.\nDeleted for-ever.\n',
    });
    expect(await command(url, ['topics', 'list', '--json'])).toEqual({ code: 0, out: '[]\n', err: '' });
  });

  it('alters what is given, and takes quotas and bounds on lag away', async () => {
    const { url } = await startedBackbone();
    const alter = ['topics', 'alter', 'orders'];
    await command(url, ['topics', 'create', 'orders', '--partitions', '1', '--quota-records', '500']);
    const described = async () => (await command(url, ['topics', 'describe', 'orders'])).out.split('\n')[0];
    expect(await described()).toBe('orders: 1 partitions, kept for 7 d, at most 500 records/s');
    const limits = [
      '--quota-bytes',
      '4096',
      '--caller-quota-records',
      '5',
      '--max-lag',
      '10',
      '--max-lag-groups',
      'a,b',
    ];
    await command(url, [...alter, ...limits]);
    await command(url, [...alter, '--retention', '1d']);
    expect(await described()).toBe(
      'orders: 1 partitions, kept for 1 d, at most 4096 bytes/s, at most 5 records/s of each caller, waits for a, b when more than 10 records behind',
    );
    const bare = await command(url, [...alter, '--no-quota', '--no-max-lag']);
    expect(bare).toEqual({ code: 0, out: 'orders: 1 partitions, kept for 1 d\n', err: '' });
    expect(await command(url, [...alter, '--max-lag', '10'])).toMatchObject({ code: 2 });
    expect(await command(url, [...alter, '--quota-bytes', '0'])).toMatchObject({ code: 2 });
    expect(await command(url, ['topics', 'alter', 'nowhere', '--no-quota'])).toMatchObject({ code: 3 });
  });

  it('tells programs in JSON', async () => {
    const { url } = await startedBackbone();
    const created = await command(url, ['--json', 'topics', 'create', 'orders', '--partitions', '1']);
    expect(JSON.parse(created.out)).toMatchObject({ name: 'orders', partitions: 1, retentionMs: 604_800_000 });
    const described = await command(url, ['topics', 'describe', 'orders', '--json']);
    expect(JSON.parse(described.out)).toMatchObject({
      name: 'orders',
      bounds: [{ partition: 0, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 }],
    });
  });

  it('leaves a topic that exists as it is', async () => {
    const { url } = await startedBackbone();
    const create = ['topics', 'create', 'orders', '--partitions'];
    await command(url, [...create, '1']);
    expect(await command(url, [...create, '2'])).toEqual({
      code: 5,
      out: '',
      err: 'vertebra: topic orders exists already\n',
    });
    expect(await command(url, [...create, '2', '--if-not-exists'])).toMatchObject({
      code: 0,
      out: 'orders: 1 partitions, kept for 7 d\n',
    });
  });

  it('takes no retention for none that was given', async () => {
    const { url } = await startedBackbone();
    const refused = await command(url, ['topics', 'create', 'orders', '--retention', '0']);
    expect(refused).toMatchObject({ code: 2, out: '', err: expect.stringContaining('retentionMs') });
    expect(await command(url, ['topics', 'list', '--json'])).toMatchObject({ out: '[]\n' });
  });

  it('ends with 3 when there is no such topic', async () => {
    const { url } = await startedBackbone();
    expect(await command(url, ['topics', 'describe', 'nothing'])).toEqual({
      code: 3,
      out: '',
      err: expect.stringMatching(/^vertebra: .*nothing.* \(404 topic_not_found\)\n$/),
    });
    const told = await command(url, ['topics', 'delete', 'nothing', '--json']);
    expect(told.code).toBe(3);
    expect(JSON.parse(told.err)).toMatchObject({
      error: { code: 'topic_not_found', effect: 'none', retryable: false },
    });
    expect(await command(url, ['topics', 'delete', 'nothing', '--if-exists'])).toEqual({ code: 0, out: '', err: '' });
  });

  it.each([
    [['create'], "missing required argument 'topic'"],
    [
      ['create', 'a', '--partitions', '0'],
      "option '--partitions <number>' argument '0' is invalid. It must be a whole number",
    ],
    [
      ['create', 'a', '--retention', 'soon'],
      "option '--retention <time>' argument 'soon' is invalid. It must be a time",
    ],
    [['create', 'a', 'b'], 'too many arguments'],
    [['create', 'a', '--partitons', '1'], "unknown option '--partitons'"],
    [['creat', 'a'], "unknown command 'creat'"],
    [['create', 'a', '--partitions', '1025'], '(400 invalid_request)'],
    [['create', 'a', '--retention', '1s'], '(400 invalid_request)'],
    [['create', 'a b'], ''],
  ])('ends with 2 when it is called wrongly: %j', async (args, complaint) => {
    const { url } = await startedBackbone();
    const result = await command(url, ['topics', ...args]);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toMatch(/^vertebra: /);
    expect(result.err).toContain(complaint);
  });
});
