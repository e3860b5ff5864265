import { describe, expect, it } from 'vitest';
import { openTopicBench } from '../support/topic-bench.ts';

const bench = openTopicBench();

/** The headers of one record, sent as they stand, as a fetch shows them. */
async function roundTrip(headers: string): Promise<unknown> {
  const topic = await bench.newTopic();
  const body = `{"records":[{"value":0,"headers":{"x":"y"}},{"headers":${headers},"value":1}]}`;
  const reply = await bench.api.post(`${topic}/records`, body, { 'content-type': 'application/json' });
  expect(reply.json()).toMatchObject({ offsets: [{ offset: 0 }, { offset: 1 }] });
  const page = await bench.fetched(topic);
  expect(page.records[0]).toMatchObject({ headers: [['x', 'y']] });
  return page.records[1]!.headers;
}

// Headers are an ordered list of pairs, whatever JSON objects make of them (F06).
describe('headers come back in the order and case they were sent', () => {
  it('as pairs whose names repeat', async () => {
    const pairs = [
      ['trace', 'a'],
      ['x', '1'],
      ['trace', 'b'],
      ['Trace', 'c'],
      ['list', 'a,b'],
    ];
    expect(await roundTrip(JSON.stringify(pairs))).toEqual(pairs);
  });

  it.each([
    ['whose names are numbers', '{"b":"1","7":"2","a":"3","0":"4"}', 'b=1 7=2 a=3 0=4'],
    ['that names a header twice', '{"a":"1", "b" :"2","a": "3"}', 'a=1 b=2 a=3'],
    ['that names a header twice, by another spelling', '{"a":"1","\\u0061":"2"}', 'a=1 a=2'],
    ['that names it beyond ASCII', '{"é":"ü","7":"日本","é":"!"}', 'é=ü 7=日本 é=!'],
    [
      'with names that every object has',
      '{"__proto__":"1","constructor":"2","__proto__":"3"}',
      '__proto__=1 constructor=2 __proto__=3',
    ],
    ['with braces and commas in it', '{"1":"},{","a":"\\"","1":","}', '1=},{ a=" 1=,'],
    ['with nothing in it', '{}', ''],
  ])('as an object %s', async (_, headers, shown) => {
    const pairs = (await roundTrip(headers)) as [string, string][];
    expect(pairs.map(([name, value]) => `${name}=${value}`).join(' ')).toBe(shown);
  });

  it('with null, bytes and an empty name among them', async () => {
    const sent = '{"":"","7":null,"a":{"base64":"/wD+gA=="},"a":null}';
    expect(await roundTrip(sent)).toEqual([
      ['', ''],
      ['7', null],
      ['a', { base64: '/wD+gA==' }],
      ['a', null],
    ]);
  });

  it('as the last of several objects, as for any other field', async () => {
    expect(await roundTrip('{"a":"1","a":"2"},"headers":{"b":"3","1":"4"}')).toEqual([
      ['b', '3'],
      ['1', '4'],
    ]);
  });

  it('and each is checked, also one whose name comes again', async () => {
    const topic = await bench.newTopic();
    const body = '{"records":[{"value":1,"headers":{"a":1,"a":"2"}}]}';
    const reply = await bench.api.post(`${topic}/records`, body, { 'content-type': 'application/json' });
    expect(reply.json()).toMatchObject({ status: 400, code: 'invalid_request', index: 0, field: 'header "a"' });
  });
});
