import { describe, expect, it } from 'vitest';
import { backbonesIn, partsOf } from '../../../shared/domain/backbone-parts.ts';
import type { FunctionFacts, MappingFacts, QueueFacts, TableFacts } from '../../../shared/domain/deployed-facts.ts';
import {
  driftOfAlarms,
  driftOfFunction,
  driftOfMapping,
  driftOfVersions,
} from '../../../shared/domain/drift-of-functions.ts';
import {
  driftOfBucket,
  driftOfDeadLetterQueue,
  driftOfTable,
  driftOfWakeQueue,
  LOG_TABLE,
  STATE_TABLE,
} from '../../../shared/domain/drift-of-storage.ts';
import { DELIVER_FUNCTION_TIMEOUT_MS, WAKE_TRIES_MAX } from '../../../shared/domain/limits.ts';

const codes = (found: readonly { readonly code: string }[]) => found.map(({ code }) => code);

describe('a table', () => {
  const log: TableFacts = {
    ...{ status: 'ACTIVE', keys: 'log S, last N', stream: { arn: 'arn:stream', view: 'KEYS_ONLY' } },
    ...{ expiresBy: 'expiresAt', isRecoverable: true, isProtected: true, replicas: 0 },
  };

  it('as the stack makes it has not drifted', () => {
    const { stream: _, ...state } = log;
    expect(driftOfTable('l', LOG_TABLE, log)).toEqual([]);
    expect(driftOfTable('s', STATE_TABLE, { ...state, keys: 'pk S, sk S' })).toEqual([]);
  });

  it.each<[string, Partial<TableFacts>, string]>([
    ['other keys', { keys: 'pk S, sk S' }, 'table_unusable'],
    ['a state in which nothing can be written', { status: 'ARCHIVED' }, 'table_unusable'],
    ['replicas', { replicas: 1 }, 'table_replicated'],
    ['a stream of images', { stream: { arn: 'a', view: 'NEW_IMAGE' } }, 'stream_changed'],
    ['no expiry', { expiresBy: null }, 'expiry_off'],
    ['another expiry', { expiresBy: 'ttl' }, 'expiry_off'],
    ['no recovery', { isRecoverable: false }, 'recovery_off'],
    ['no protection', { isProtected: false }, 'deletion_unprotected'],
  ])('with %s has', (_, facts, code) => {
    expect(codes(driftOfTable('l', LOG_TABLE, { ...log, ...facts }))).toEqual([code]);
  });

  it('restored from a backup has lost what a restore does not bring', () => {
    const { stream: _, ...restored } = { ...log, expiresBy: null, isRecoverable: false, isProtected: false };
    expect(codes(driftOfTable('l', LOG_TABLE, restored))).toEqual([
      ...['stream_changed', 'expiry_off', 'recovery_off', 'deletion_unprotected'],
    ]);
  });

  it('of an engine that does not tell of backups is not blamed', () => {
    const { isRecoverable: _, ...local } = { ...log, isProtected: false };
    expect(driftOfTable('l', LOG_TABLE, local)).toEqual([]);
  });
});

describe('a bucket', () => {
  it('is blamed for what is public and for rules that delete, and for what it does not tell it is not', () => {
    expect(driftOfBucket('b', { isPrivate: true, expiringRules: [] })).toEqual([]);
    expect(driftOfBucket('b', {})).toEqual([]);
    const found = driftOfBucket('b', { isPrivate: false, expiringRules: ['old'] });
    expect(codes(found)).toEqual(['bucket_public', 'bucket_expires_objects']);
  });
});

describe('a queue', () => {
  const wake: QueueFacts = {
    ...{
      arn: 'arn:wake',
      visibilityTimeoutMs: 6 * DELIVER_FUNCTION_TIMEOUT_MS,
      delayMs: 0,
      messages: 3,
      isOpen: false,
    },
    deadLetters: { arn: 'arn:dead', receivesMax: WAKE_TRIES_MAX },
  };

  it('as the stack makes it has not drifted', () => {
    expect(driftOfWakeQueue(wake, 'arn:dead')).toEqual([]);
    expect(driftOfWakeQueue(wake, undefined)).toEqual([]);
    expect(driftOfDeadLetterQueue({ ...wake, messages: 0 })).toEqual([]);
  });

  it.each<[string, Partial<QueueFacts>]>([
    ['a shorter visibility timeout', { visibilityTimeoutMs: 30_000 }],
    ['a delay', { delayMs: 1_000 }],
    ['other dead letters', { deadLetters: { arn: 'arn:other', receivesMax: WAKE_TRIES_MAX } }],
    ['fewer tries', { deadLetters: { arn: 'arn:dead', receivesMax: 1 } }],
    ['a policy that takes what comes without TLS', { requiresTls: false }],
  ])('with %s has', (_, facts) => {
    expect(codes(driftOfWakeQueue({ ...wake, ...facts }, 'arn:dead'))).toEqual(['queue_changed']);
  });

  it('that is open to everybody is told, whichever it is', () => {
    const open = { ...wake, messages: 0, isOpen: true };
    expect(codes(driftOfWakeQueue(open, 'arn:dead'))).toEqual(['queue_open']);
    expect(codes(driftOfDeadLetterQueue(open))).toEqual(['queue_open']);
  });

  it('without dead letters has, and one that holds some tells how many', () => {
    const { deadLetters: _, ...alone } = wake;
    expect(codes(driftOfWakeQueue(alone, 'arn:dead'))).toEqual(['queue_changed']);
    expect(driftOfDeadLetterQueue(wake)).toMatchObject([{ code: 'dead_messages', data: { messages: 3 } }]);
  });
});

describe('an event source mapping', () => {
  const removals = { id: 'DeliveryStream', name: 'uuid-1' };
  const inserts = { id: 'DeliveryInserts', name: 'uuid-2' };
  const wakeUps = { id: 'DeliveryWakeUps', name: 'uuid-3' };
  const on: MappingFacts = { isEnabled: true, state: 'Enabled', source: 'arn:stream', takesFailures: true };
  const off = { ...on, isEnabled: false, state: 'Disabled' };
  const known = { streamArn: 'arn:stream', subscriptions: true };

  it('that follows removals has to be on, whoever is subscribed', () => {
    expect(driftOfMapping(removals, on, known)).toEqual([]);
    expect(codes(driftOfMapping(removals, off, { ...known, subscriptions: false }))).toEqual(['mapping_off']);
    expect(codes(driftOfMapping(removals, off, {}))).toEqual(['mapping_off']);
  });

  it('that wakes subscribers has to be on where there are some', () => {
    for (const part of [inserts, wakeUps]) {
      expect(codes(driftOfMapping(part, off, known))).toEqual(['mapping_off']);
      expect(driftOfMapping(part, off, { ...known, subscriptions: false })).toEqual([]);
      expect(driftOfMapping(part, off, {})).toEqual([]);
    }
    expect(codes(driftOfMapping(inserts, on, { ...known, subscriptions: false }))).toEqual(['mapping_needless']);
  });

  it('of a stream that the table no longer has follows nothing', () => {
    const other = { ...known, streamArn: 'arn:newer' };
    expect(codes(driftOfMapping(removals, on, other))).toEqual(['mapping_detached']);
    expect(driftOfMapping(wakeUps, { ...on, source: 'arn:queue' }, other)).toEqual([]);
  });

  it('of the wake queue has to hear what failed', () => {
    expect(codes(driftOfMapping(wakeUps, { ...on, takesFailures: false }, known))).toEqual(['mapping_changed']);
    expect(driftOfMapping(removals, { ...on, takesFailures: false }, known)).toEqual([]);
  });

  it('tells when its last call failed', () => {
    const failed = { ...on, lastResult: 'PROBLEM: Function call failed' };
    expect(codes(driftOfMapping(removals, failed, known))).toEqual(['mapping_failing']);
    expect(driftOfMapping(removals, { ...on, lastResult: 'No records processed' }, known)).toEqual([]);
  });
});

describe('a function', () => {
  const deliver = { id: 'Deliver', name: 'stack-deliver' };
  const is: FunctionFacts = { environment: { TABLE: 'log' }, mayLoop: true };

  it('as it was deployed has not drifted, whatever variables it does without', () => {
    expect(driftOfFunction(deliver, is, { TABLE: 'log', BUCKET: 'payloads' })).toEqual([]);
    expect(driftOfFunction({ ...deliver, id: 'Fetch' }, { ...is, mayLoop: false }, {})).toEqual([]);
  });

  it.each<[string, Partial<FunctionFacts>, string]>([
    ['failed to be updated', { fault: 'its last update failed: no role' }, 'function_unusable'],
    ['has no concurrency', { concurrency: 0 }, 'function_throttled'],
    ['may not wake itself', { mayLoop: false }, 'function_loop_stopped'],
    ['has another table', { environment: { TABLE: 'old' } }, 'function_environment_wrong'],
  ])('that %s has', (_, facts, code) => {
    expect(codes(driftOfFunction(deliver, { ...is, ...facts }, { TABLE: 'log' }))).toEqual([code]);
  });

  it('is of another version than the rest after half a deployment', () => {
    expect(driftOfVersions({ Fetch: '1.0.0', Produce: '1.0.0' })).toEqual([]);
    expect(driftOfVersions({})).toEqual([]);
    expect(driftOfVersions({ Fetch: '1.0.0', Produce: '1.1.0', Sweep: '1.0.0' })).toMatchObject([
      { code: 'function_versions_differ', detail: 'there are 1.0.0 (Fetch, Sweep) and 1.1.0 (Produce)' },
    ]);
  });
});

it('an alarm is missing, muted or raised', () => {
  const alarms = ['a', 'b', 'c', 'd'].map((name) => ({ id: name.toUpperCase(), name }));
  const facts = [
    { name: 'a', state: 'OK', areActionsEnabled: true },
    { name: 'b', state: 'ALARM', areActionsEnabled: true },
    { name: 'c', state: 'OK', areActionsEnabled: false },
  ];
  expect(driftOfAlarms(alarms, facts).map(({ subject, code }) => `${subject}: ${code}`)).toEqual([
    ...['alarm B: alarm_raised', 'alarm C: alarm_muted', 'alarm D: alarm_missing'],
  ]);
});

describe('a stack', () => {
  const table = (logicalId: string) => ({
    logicalId,
    type: 'AWS::DynamoDB::Table',
    physicalId: logicalId.slice(0, -8),
  });
  const bucket = (logicalId: string) => ({ logicalId, type: 'AWS::S3::Bucket', physicalId: logicalId.slice(0, -8) });
  const storage = (id: string) => [
    ...[table(`${id}StorageLog0123ABCD`), table(`${id}StorageState0123ABCD`), bucket(`${id}StorageBucket0123ABCD`)],
  ];

  it('may hold several backbones, of which one may be named as another begins', () => {
    const resources = [...storage('Events'), ...storage('Events2'), table('OrdersTable0123ABCD')];
    expect(backbonesIn(resources)).toEqual(['Events', 'Events2']);
    expect(partsOf(resources, 'Events')).toMatchObject({ logTable: 'EventsStorageLog', bucket: 'EventsStorageBucket' });
    expect(partsOf(resources, 'Events2')?.stateTable).toBe('Events2StorageState');
  });

  it('without a State table holds none that can be looked at', () => {
    expect(partsOf(storage('Events').slice(0, 1), 'Events')).toBeUndefined();
    expect(backbonesIn([table('OrdersTable0123ABCD')])).toEqual([]);
  });
});
