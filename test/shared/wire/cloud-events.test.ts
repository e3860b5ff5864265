import { type CloudEvent, HTTP } from 'cloudevents';
import { describe, expect, it } from 'vitest';
import { cloudEvent, cloudEventBatch } from '../../../shared/wire/cloud-events.ts';
import { CLOUD_EVENTS_BATCH_TYPE } from '../../../shared/wire/media-type.ts';
import { type DeliveryFields, deliveryBatch } from '../../support/deliveries.ts';

/** The events as the CloudEvents SDK reads them from a request. */
function readBack(...records: DeliveryFields[]): CloudEvent<unknown>[] {
  const batch = deliveryBatch(records);
  const body = cloudEventBatch(batch.records.map((record) => cloudEvent(batch, record)));
  return HTTP.toEvent({ headers: { 'content-type': CLOUD_EVENTS_BATCH_TYPE }, body }) as CloudEvent<unknown>[];
}

function parsed(record: DeliveryFields): Record<string, unknown> {
  const batch = deliveryBatch([record]);
  return JSON.parse(cloudEvent(batch, batch.records[0]!));
}

describe('a record', () => {
  it('is an event named by its place in the log', () => {
    const [first, second] = readBack({ key: 'order-17', value: '{"total":12.5}' }, { value: '[1]' });
    expect(first).toMatchObject({
      ...{ specversion: '1.0', id: 'orders-3:41', source: '/topics/orders/partitions/3', type: 'vertebra.record' },
      ...{ time: '2026-01-01T00:00:00.012Z', subject: 'order-17', partitionkey: 'order-17' },
      ...{ sequence: '0000000000000041', datacontenttype: 'application/json', data: { total: 12.5 } },
    });
    expect(second).toMatchObject({ id: 'orders-3:42', data: [1] });
    expect(second).not.toHaveProperty('partitionkey');
    expect(first).not.toHaveProperty('recordheaders');
  });

  it.each([
    ['{"a":"ö"}', 'application/json', { a: 'ö' }],
    ['"text"', 'application/json', 'text'],
    ['0', 'application/json', 0],
    ['plain text {', 'text/plain; charset=utf-8', 'plain text {'],
  ])('whose value is %s has it as data', (value, datacontenttype, data) => {
    expect(readBack({ value })[0]).toMatchObject({ datacontenttype, data });
  });

  it('keeps the text of its JSON as it was sent', () => {
    const batch = deliveryBatch([{ value: '{"n": 12345678901234567890.10}' }]);
    expect(cloudEvent(batch, batch.records[0]!)).toContain('"data":{"n": 12345678901234567890.10}');
  });

  it.each([
    ['bytes', Buffer.from([0xff, 0x00, 0x7f])],
    ['a text that base64 says shorter', Buffer.from('\u0001'.repeat(100))],
  ])('whose value is %s has it as data_base64', (_, value) => {
    const event = readBack({ value })[0]!;
    expect(event).toMatchObject({ datacontenttype: 'application/octet-stream' });
    expect(Buffer.from(event.data as Uint8Array)).toEqual(value);
  });

  it('whose JSON has half of a surrogate pair has it as text', () => {
    expect(readBack({ value: '"\\ud800"' })[0]).toMatchObject({
      datacontenttype: 'text/plain; charset=utf-8',
      data: '"\\ud800"',
    });
  });

  it('is in the trace of its headers, unless it came in as an event that has its own', () => {
    const [mine, other] = ['b7ad6b7169203331', '00f067aa0ba902b7'].map((id) => `00-${'a'.repeat(32)}-${id}-01`);
    const headers: [string, string][] = [
      ['traceparent', mine!],
      ['tracestate', 'a=1'],
    ];
    expect(readBack({ value: '1', headers })[0]).toMatchObject({ traceparent: mine, tracestate: 'a=1' });
    const event: [string, string][] = Object.entries({ specversion: '1.0', id: 'e', source: '/s', type: 't' });
    const own = event.map(([name, value]): [string, string] => [`ce_${name}`, value]);
    expect(parsed({ value: '1', headers: [...own, ...headers] })).toMatchObject({ id: 'e', traceparent: mine });
    const traced = parsed({ value: '1', headers: [...own, ['ce_traceparent', other!], ...headers] });
    expect(traced).toMatchObject({ traceparent: other });
    expect(traced).not.toHaveProperty('tracestate');
    expect(parsed({ value: '1', headers: [['traceparent', 'none']] })).not.toHaveProperty('traceparent');
  });

  it('tells a tombstone from the JSON null', () => {
    expect(parsed({ value: null })).toMatchObject({ tombstone: true });
    expect(parsed({ value: null })).not.toHaveProperty('data');
    expect(parsed({ value: 'null' })).toMatchObject({ data: null });
    expect(parsed({ value: 'null' })).not.toHaveProperty('tombstone');
    expect(readBack({ value: null })[0]).toMatchObject({ tombstone: true });
  });

  it.each([
    ['bytes', Buffer.from([0xff, 0xfe])],
    ['empty', Buffer.from('')],
    ['a text with control characters', Buffer.from('a\nb')],
  ])('whose key is %s has it as recordkeybase64', (_, key) => {
    const event = readBack({ key, value: '1' })[0]!;
    expect(event).toMatchObject({ recordkeybase64: key.toString('base64') });
    expect(event.subject).toBeUndefined();
    expect(event.partitionkey).toBeUndefined();
  });

  it('has its headers as a JSON text, repeated and null ones too', () => {
    const headers = [
      ['a', 'x'],
      ['a', 'y\u0085'],
      ['n', null],
      ['b', Buffer.from([0xff])],
    ] as const;
    const { recordheaders } = readBack({ value: '1', headers })[0] as CloudEvent & { recordheaders: string };
    expect(recordheaders).not.toMatch(/\p{Cc}/u);
    expect(JSON.parse(recordheaders)).toEqual([
      ['a', 'x'],
      ['a', 'y\u0085'],
      ['n', null],
      ['b', { base64: '/w==' }],
    ]);
  });

  it('has no time when it has none, or one that no calendar knows', () => {
    expect(parsed({ value: '1', timestamp: -1 })).not.toHaveProperty('time');
    expect(parsed({ value: '1', timestamp: 9e15 })).not.toHaveProperty('time');
  });

  it('says where its value is when it does not carry it', () => {
    const link = { url: 'https://payloads.example/x?y=1', size: 5_000_000_000, sha256: 'ab' };
    const event = readBack({ value: '1', link })[0]!;
    expect(event).toMatchObject({ dataref: link.url, datasize: '5000000000', datasha256: 'ab' });
    expect(event.data).toBeUndefined();
  });

  it('holds no character that a queue refuses', () => {
    const text = `${'a'.repeat(99)}\u0000\ufffe\uffff\u0008`;
    const batch = deliveryBatch([{ key: text, value: JSON.stringify(text), headers: [['h', text]] }, { value: text }]);
    for (const record of batch.records) {
      const event = cloudEvent(batch, record);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it is these that must not be there
      expect(event).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/);
      expect(JSON.parse(event)).toMatchObject({ data: text });
    }
  });
});

describe('a record that came in as a CloudEvent', () => {
  const EVENT = [
    ...([
      ['ce_specversion', '1.0'],
      ['ce_id', 'e-1'],
      ['ce_source', '/shop?a=1'],
      ['ce_type', 'placed'],
    ] as const),
    ...([
      ['ce_time', '2025-05-05T05:05:05Z'],
      ['ce_tenant', 't1'],
      ['content-type', 'application/json'],
    ] as const),
  ];

  it('keeps its own attributes, and says its place', () => {
    const event = readBack({ key: 'k', value: '{"a":1}', headers: [...EVENT, ['traceparent', '00-1']] })[0]!;
    expect(event).toMatchObject({
      ...{ id: 'e-1', source: '/shop?a=1', type: 'placed', time: '2025-05-05T05:05:05Z', tenant: 't1' },
      ...{ datacontenttype: 'application/json', data: { a: 1 } },
      ...{ sequence: '0000000000000041', recordid: 'orders-3:41', recordheaders: '[["traceparent","00-1"]]' },
    });
    expect(event.subject).toBeUndefined();
  });

  it.each([
    ['application/xml', '<a/>', undefined],
    ['text/xml', '<a/>', '<a/>'],
    ['application/json', 'not JSON', undefined],
    ['application/vnd.x+json', '{"a":1}', { a: 1 }],
  ])('of type %s with %s has its data by that type', (type, value, data) => {
    const headers = [...EVENT.filter(([name]) => name !== 'content-type'), ['content-type', type] as const];
    const event = parsed({ value, headers });
    expect(event).toMatchObject({ datacontenttype: type });
    expect(event.data).toEqual(data);
    if (data === undefined) expect(event.data_base64).toBe(Buffer.from(value).toString('base64'));
  });

  it.each([
    ['ce_specversion', '0.3'],
    ['ce_id', ''],
    ['ce_source', 'not a uri'],
    ['ce_type', null],
    ['ce_time', 'yesterday'],
  ])('is a plain record when its %s is %s', (name, value) => {
    const headers = EVENT.map((header) => (header[0] === name ? ([name, value] as const) : header));
    const event = readBack({ value: '1', headers })[0] as CloudEvent & { recordheaders: string };
    expect(event).toMatchObject({ id: 'orders-3:41', type: 'vertebra.record' });
    expect(JSON.parse(event.recordheaders)).toHaveLength(EVENT.length);
  });

  it('cannot name data, the place or the headers itself', () => {
    const headers = [
      ...EVENT,
      ['ce_data', 'x'],
      ['ce_recordid', 'x'],
      ['ce_Upper', 'x'],
      ['ce_recordheaders', 'x'],
    ] as const;
    expect(parsed({ value: '7', headers })).toMatchObject({
      data: 7,
      recordid: 'orders-3:41',
      recordheaders: '[["ce_data","x"],["ce_Upper","x"]]',
    });
  });
});
