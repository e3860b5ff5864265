import { expect, it, onTestFinished } from 'vitest';
import { type RelayEvent, type RelayOptions, relayOutbox } from '../../../client/relay/index.ts';
import { Vertebra } from '../../../client/vertebra.ts';

const TYPES = {
  ...{ id: 'bigint', topic: 'text', key: 'text', value: 'jsonb', headers: 'jsonb', error: 'text', lane: 'smallint' },
  ...{ created_at: 'timestamp with time zone', failed_at: 'timestamp with time zone' },
  ...{ token: 'uuid', free_at: 'timestamp with time zone', attempts: 'integer', plan: 'jsonb' },
};

/** A database that has an empty outbox, and answers a claim as it is told. */
async function relayOn(claim: () => Promise<{ rows: [] }>, options: Partial<RelayOptions> = {}) {
  const events: RelayEvent[] = [];
  let listeners = 0;
  const running = await relayOutbox({
    ...{ vertebra: new Vertebra({ endpoint: 'http://127.0.0.1:1' }), table: 'outbox' },
    ...{ pollMs: 10, minBackoffMs: 1, maxBackoffMs: 5 },
    pool: {
      async query(text) {
        if (text.includes('pg_attribute'))
          return { rows: Object.entries(TYPES).map(([name, type]) => ({ name, type })) };
        return text.startsWith('UPDATE') ? claim() : { rows: [{ count: 1 }] };
      },
      on: () => listeners++,
      off: () => listeners--,
    },
    metrics: (event) => void events.push(event),
    ...options,
  });
  onTestFinished(() => running.stop());
  return { running, events, listeners: () => listeners };
}

it('tells that the database is away, tries again after pauses, and goes on when it is back', async () => {
  let claims = 0;
  const away = new Error('Connection terminated unexpectedly');
  const { running, events, listeners } = await relayOn(async () => {
    if (++claims <= 3) throw away;
    return { rows: [] };
  });
  expect(listeners()).toBe(1); // else a connection that breaks would end the process
  await expect.poll(() => claims).toBeGreaterThan(5);
  const trouble = { kind: 'trouble', source: 'database', error: away, pauseMs: expect.any(Number) };
  expect(events).toEqual([trouble, trouble, trouble]);
  await running.stop();
  expect(listeners()).toBe(0);
});

it('goes on when it cannot tell of it', async () => {
  let claims = 0;
  const claim = async () => {
    claims++;
    throw new Error('away');
  };
  const metrics = () => {
    throw new Error('mine');
  };
  await relayOn(claim, { metrics });
  await expect.poll(() => claims).toBeGreaterThan(2);
});

it('is stopped at once while the database is away', async () => {
  const away = async () => Promise.reject(new Error('away'));
  const { running, events } = await relayOn(away, { minBackoffMs: 600_000, maxBackoffMs: 600_000 });
  await expect.poll(() => events.length).toBeGreaterThan(0);
  await running.stop();
});
