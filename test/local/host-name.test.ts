import { once } from 'node:events';
import { request } from 'node:http';
import { expect, it } from 'vitest';
import { openGateway } from '../../local/gateway.ts';
import { leadsHere } from '../../local/host-name.ts';

const OWN = [
  '127.0.0.1',
  '127.0.0.1:4100',
  'localhost:4100',
  'LOCALHOST',
  'localhost.',
  'api.localhost:80',
  '[::1]:4100',
];
const FOREIGN = [
  'evil.example',
  'evil.example:4100',
  'localhost.evil.example',
  'notlocalhost',
  'internal',
  '127.0.0.1.nip.example',
  '',
];

it.each([...OWN, 'host.docker.internal:4100', '192.168.1.5'])('may be %s', (host) => {
  expect(leadsHere(host)).toBe(true);
});

it('may be absent, as no browser leaves it', () => {
  expect(leadsHere(undefined)).toBe(true);
});

it.each(FOREIGN)('may not be %j, which a website can have', (host) => {
  expect(leadsHere(host)).toBe(false);
});

it('of a website whose name leads here is refused by the gateway, and no function sees the request', async () => {
  const seen: string[] = [];
  const each = async () => {
    seen.push('called');
    return { statusCode: 200, body: 'secret' };
  };
  const gateway = await openGateway({
    handlers: { produce: each, fetch: each, topics: each, groups: each, subscriptions: each },
    port: 0,
  });
  const answerTo = async (host: string) => {
    const sent = request(`${gateway.url}/v1/topics`, { headers: { host }, agent: false }).end();
    const [response] = await once(sent, 'response');
    return { status: response.statusCode, body: (await response.toArray()).join('') };
  };
  try {
    expect(await answerTo('evil.example')).toEqual({ status: 403, body: '{"message":"Forbidden"}' });
    expect(seen).toEqual([]);
    expect(await answerTo('localhost')).toEqual({ status: 200, body: 'secret' });
  } finally {
    await gateway.close(0);
  }
});
