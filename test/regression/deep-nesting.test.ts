import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';

const JSON_BODY = { 'content-type': 'application/json' };
const DEEP = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

let api: Api;
beforeAll(async () => {
  api = await openApi();
  await api.put('/v1/topics/orders', { partitions: 1 });
});
afterAll(() => api.close());

const produce = (record: string) => api.post('/v1/topics/orders/records', `{"records":[${record}]}`, JSON_BODY);

// Whatever is said about a text must not recurse over it: what was sent may be nested deeper than any stack.
describe('a list nested a hundred thousand deep', () => {
  it.each([
    ['a record', DEEP, 'record must be an object'],
    ['a key', `{"value":1,"key":${DEEP}}`, 'key must be a string'],
    ['an encoding', `{"value":1,"valueEncoding":${DEEP}}`, 'valueEncoding must be'],
    ['the encoding of a key', `{"value":1,"keyEncoding":${DEEP}}`, 'keyEncoding must be'],
    ['a partition', `{"value":1,"partition":${DEEP}}`, 'partition must be an integer'],
    ['a timestamp', `{"value":1,"timestamp":${DEEP}}`, 'timestamp must be an integer'],
    ['headers', `{"value":1,"headers":${DEEP}}`, 'headers must hold pairs'],
    ['a header', `{"value":1,"headers":{"a":${DEEP}}}`, 'must be a string, null'],
  ])('is refused as %s like any other list', async (_, record, detail) => {
    const reply = await produce(record);
    expect(reply.json()).toMatchObject({ status: 400, code: 'invalid_request', index: 0 });
    expect(reply.json().detail).toContain(detail);
  });

  it('is a value like any other, and comes back as it was sent', async () => {
    expect((await produce(`{"value":${DEEP}}`)).status).toBe(200);
    const page = await api.get('/v1/topics/orders/partitions/0/records?offset=earliest');
    expect(page.text).toContain(`"value":${DEEP},`);
  });
});
