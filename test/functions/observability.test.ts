import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiRoute } from '../../functions/api-handler.ts';
import { hourOf } from '../../shared/operations/doorbell.ts';
import type { LagReport, ParkedReport } from '../../shared/operations/measure-lag.ts';
import { jsonAnswer } from '../../shared/wire/http-answer.ts';
import { send } from '../support/gateway-call.ts';
import { OPEN_PORTS } from '../support/open-ports.ts';
import { openPushBench } from '../support/push-bench.ts';

const secret = 'a-payload-that-nobody-may-log';
let lines: string[];

/** Calls a function whose logs and metrics are on. */
async function call(route: ApiRoute, ports = OPEN_PORTS) {
  const { apiHandler } = await import('../../functions/api-handler.ts');
  const routes = () => ({ 'POST /v1/topics/{topic}/records': route });
  const produce = apiHandler(() => ports, routes, { corsOrigins: [] });
  const headers = { authorization: secret };
  return send({ produce }, 'POST', `/v1/topics/${secret}/records?key=${secret}`, { headers, body: { value: secret } });
}

beforeEach(() => {
  vi.resetModules();
  vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO');
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
  vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'produce');
  lines = [];
  const keep = (text: string | Uint8Array) => lines.push(String(text)) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('what a function tells about a request', () => {
  it('is one line: counts for CloudWatch, and id, route and status to search for', async () => {
    const { observe } = await import('../../functions/observability.ts');
    await call(() => {
      observe({ kind: 'records_appended', log: 'x.0', count: 7 });
      return jsonAnswer(1);
    });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      service: 'produce',
      Requests: 1,
      RecordsAppended: 7,
      Duration: expect.any(Number),
      route: 'POST /v1/topics/{topic}/records',
      status: '200',
      requestId: expect.any(String),
    });
    expect(lines[0]).not.toContain(secret);
  });

  it('says who called, where that is asked, also of what was refused', async () => {
    const { Forbidden } = await import('../../shared/domain/access-errors.ts');
    const known = { authorise: async () => ({ principal: 'key:1', rights: [] }) };
    await call(() => jsonAnswer(1), { ...OPEN_PORTS, access: known });
    const refused = { authorise: () => Promise.reject(new Forbidden('key:2', 'produce', { topic: 'orders' })) };
    await call(() => jsonAnswer(1), { ...OPEN_PORTS, access: refused });
    await call(() => jsonAnswer(1));
    expect(lines.map((line) => (JSON.parse(line) as { principal?: string }).principal)).toEqual([
      ...['key:1', 'key:2', undefined],
    ]);
  });

  it('names the code of a refusal, and counts it', async () => {
    const { InvalidRequest } = await import('../../shared/domain/errors.ts');
    await call(() => {
      throw new InvalidRequest(`what is wrong with ${secret}`);
    });
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      status: '400',
      code: 'invalid_request',
      'Refused.invalid_request': 1,
    });
    expect(lines[0]).not.toContain(secret);
  });

  it('has the error itself when nobody expected it, under the id that the answer carries', async () => {
    const reply = await call(() => {
      throw new TypeError('no such property');
    });
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'ERROR',
      requestId: reply.json().requestId,
      error: { name: 'TypeError', message: 'no such property', stack: expect.any(String) },
    });
    expect(lines.join()).not.toContain(secret);
  });

  it('names an item that is not understood, and counts it, to be alarmed by', async () => {
    const { UnknownLayout } = await import('../../shared/domain/errors.ts');
    const reply = await call(() => {
      throw new UnknownLayout('head#x.0 head', '2', '1');
    });
    expect(reply.json()).toMatchObject({ status: 500, code: 'internal' });
    expect(JSON.stringify(reply.json())).not.toContain('head#');
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'ERROR',
      error: { name: 'UnknownLayout', message: "item 'head#x.0 head' has layout 2; this version knows 1" },
    });
    expect(JSON.parse(lines[1]!)).toMatchObject({ UnknownLayouts: 1, Failures: 1, status: '500', code: 'internal' });
  });

  it('counts what is alarmed by once more, as of the whole backbone, whichever function met it', async () => {
    const { observe } = await import('../../functions/observability.ts');
    await call(() => {
      observe({ kind: 'payload_missing', log: 'x.0' });
      return jsonAnswer(1);
    });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { service: 'produce', PayloadsMissing: 1, Requests: 1 },
      { service: 'backbone', PayloadsMissing: 1 },
    ]);
  });

  it.each([
    [200, undefined],
    [207, 1],
    [404, undefined],
    [503, 1],
  ])('counts a request as failed that did not do all that it should: %i', async (status, failures) => {
    await call(() => jsonAnswer(1, status));
    expect(JSON.parse(lines[0]!).Failures).toBe(failures);
  });
});

describe('what the sweep tells', () => {
  const tell = async (report: LagReport, tasksLeft = 0, parked: ParkedReport = { worst: [] }) => {
    vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'sweep');
    const told = await import('../../functions/observability.ts');
    told.recordLag(report);
    told.recordParked(parked);
    told.recordTasksLeft(tasksLeft);
    told.publishObservations();
    return lines.map((line) => JSON.parse(line));
  };

  it('is nothing while nobody is behind, no key is parked, and nothing was left', async () => {
    expect(await tell({ worst: [] })).toEqual([]);
  });

  it('is the lag of the worst, each under its name, and the longest wait under none', async () => {
    const worst = [{ subscription: 'shipping', records: 3, ageMs: 90_000 }];
    const told = await tell({ worst, oldestMs: 90_000, retentionUsed: 0.25, unsettledMs: 60_000 }, 2);
    expect(told).toMatchObject([
      { service: 'sweep', subscription: 'shipping', ConsumerLag: 3, ConsumerLagAge: 90 },
      { service: 'sweep', ConsumerLagAge: 90, RetentionUsed: 25, OldestUnsettledSlot: 60, TasksLeft: 2 },
    ]);
    const dimensions = told.map(({ _aws }) => _aws.CloudWatchMetrics[0].Dimensions);
    expect(dimensions).toEqual([[['service', 'subscription']], [['service']]]);
  });

  it('is the age of the oldest parked key, of each of the worst and of all', async () => {
    const parked = { worst: [{ subscription: 'shipping', ageMs: 3_600_000 }], oldestMs: 3_600_000 };
    const told = await tell({ worst: [] }, 0, parked);
    expect(told).toMatchObject([
      { service: 'sweep', subscription: 'shipping', OldestParkedKeyAge: 3_600 },
      { service: 'sweep', OldestParkedKeyAge: 3_600 },
    ]);
    const metrics = told.map(({ _aws }) => _aws.CloudWatchMetrics[0]);
    expect(metrics.map(({ Dimensions }) => Dimensions)).toEqual([[['service', 'subscription']], [['service']]]);
    expect(metrics[1].Metrics).toEqual([{ Name: 'OldestParkedKeyAge', Unit: 'Seconds' }]);
  });

  it('is what it finds parked when it runs', async () => {
    vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'sweep');
    const { openSweep, sweepHandler } = await import('../../functions/sweep.ts');
    const bench = await openPushBench();
    onTestFinished(() => bench.close());
    const retry = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 60_000 };
    await bench.subscribe('shipping', { onFailure: 'park', retry });
    const error = { name: 'Error', message: 'no' };
    bench.scripts.set('shipping', () => ({ kind: 'failed', at: 0, error }));
    await bench.append(['k=0']);
    await bench.wake({ last: 0 });
    bench.clock.pass(90_000);
    const wake = vi.fn(async () => {});
    const ports = { ...openSweep(bench.tables, bench.tables, undefined, bench.clock), wakeQueue: { wake } };
    await sweepHandler(() => ports)({}, { getRemainingTimeInMillis: () => 60_000 });
    expect(wake).toHaveBeenCalledExactlyOnceWith([expect.objectContaining({ lane: expect.any(String) })]);
    const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === undefined);
    expect(told).toMatchObject([
      { subscription: 'shipping', OldestParkedKeyAge: expect.closeTo(90, 0) },
      { OldestParkedKeyAge: expect.closeTo(90, 0) },
    ]);
  });

  it('is what it finds behind when it runs, and that the store kept it from a task', async () => {
    vi.stubEnv('POWERTOOLS_SERVICE_NAME', 'sweep');
    const { openSweep, sweepHandler } = await import('../../functions/sweep.ts');
    const bench = await openPushBench();
    onTestFinished(() => bench.close());
    await bench.subscribe('shipping');
    const { clock, tables } = bench;
    const { topicId } = bench.positionId(0, 'shipping');
    await bench.host().backbone.touched.note({ topicId, partition: 0 }, hourOf(clock.now()), clock.now());
    await bench.append(['a', 'b']);
    clock.pass(90_000);
    const wake = vi.fn(async () => {});
    const refused = async () => {
      throw new TypeError('no such queue');
    };
    const ports = { ...openSweep(tables, tables, undefined, clock), wakeQueue: { wake } };
    const context = { getRemainingTimeInMillis: () => 60_000 };
    await sweepHandler(() => ports)({}, context);
    expect(wake).toHaveBeenCalledOnce();
    await sweepHandler(() => ({ ...ports, wakeQueue: { wake: refused } }))({}, context);
    const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === undefined);
    const lag = [{ subscription: 'shipping', ConsumerLag: 2 }, { ConsumerLagAge: expect.any(Number) }];
    expect(told).toMatchObject([...lag, lag[0], { TasksLeft: 1 }]);
    expect(told[1].TasksLeft).toBeUndefined();
  });
});
