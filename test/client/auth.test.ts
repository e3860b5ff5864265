import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Auth, openAuth, type Unsigned } from '../../client/auth.ts';
import { InvalidOptions } from '../../client/errors.ts';

const API = new URL('https://abc123.execute-api.eu-central-1.amazonaws.com');
const LOCAL = new URL('http://127.0.0.1:4100');
const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' };
const AT = Date.UTC(2026, 0, 2, 3, 4, 5);

const request = (endpoint: URL): Unsigned => ({
  method: 'POST',
  url: new URL('/v1/topics/a%2Fb/records?b=2&a=1', endpoint),
  headers: { 'content-type': 'application/json', 'user-agent': 'vertebra' },
  body: new TextEncoder().encode('{}'),
});
const signed = (auth: Auth | undefined, endpoint: URL) => openAuth(auth, endpoint, () => AT)(request(endpoint));
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

describe('no authentication', () => {
  it('is for http on this machine, and where it is asked for', async () => {
    for (const host of ['127.0.0.1', '[::1]', 'localhost', '127.1']) {
      expect(await signed(undefined, new URL(`http://${host}:4100`))).not.toHaveProperty('authorization');
    }
    expect(await signed('none', API)).not.toHaveProperty('authorization');
    expect(await signed({ iam: { credentials: CREDENTIALS } }, API)).toHaveProperty('authorization');
  });
});

describe('an API key', () => {
  it('is a bearer token, asked for at each request when it is a function', async () => {
    let asked = 0;
    const sign = openAuth({ apiKey: async () => `key-${++asked}` }, API);
    expect(await sign(request(API))).toHaveProperty('authorization', 'Bearer key-1');
    expect(await sign(request(API))).toHaveProperty('authorization', 'Bearer key-2');
    expect(await signed({ apiKey: 'k' }, LOCAL)).toHaveProperty('authorization', 'Bearer k');
  });

  it('does not travel in the clear, and is no text that a header cannot hold', async () => {
    expect(() => openAuth({ apiKey: 'k' }, new URL('http://example.com'))).toThrow(/https/);
    expect(() => openAuth({ apiKey: undefined as never }, API)).toThrow("'apiKey' must be a text");
    expect(() => openAuth('key' as never, API)).toThrow("'auth' must be");
    await expect(signed({ apiKey: 'a\r\nb' }, API)).rejects.toThrow(InvalidOptions);
    await expect(signed({ apiKey: '' }, API)).rejects.toThrow(InvalidOptions);
  });
});

describe('AWS credentials', () => {
  it('sign the request as Signature Version 4 says', async () => {
    const headers = await signed({ iam: { credentials: CREDENTIALS } }, API);
    expect(headers).toMatchObject({ 'x-amz-date': '20260102T030405Z', 'x-amz-security-token': 'session' });
    expect(headers).not.toHaveProperty('host');
    const names = /SignedHeaders=([^,]+)/.exec(headers.authorization!)![1]!;
    const all: Record<string, string> = { ...headers, host: API.host };
    const canonical = [
      ...['POST', '/v1/topics/a%252Fb/records', 'a=1&b=2'],
      ...names.split(';').map((name) => `${name}:${all[name]}`),
      ...['', names, sha256('{}')],
    ].join('\n');
    const scope = '20260102/eu-central-1/execute-api/aws4_request';
    const key = ['20260102', 'eu-central-1', 'execute-api', 'aws4_request'].reduce<string | Buffer>(hmac, 'AWS4secret');
    const signature = hmac(key as Buffer, `AWS4-HMAC-SHA256\n20260102T030405Z\n${scope}\n${sha256(canonical)}`);
    expect(headers.authorization).toContain(`Credential=AKIDEXAMPLE/${scope}`);
    expect(headers.authorization).toContain(`Signature=${signature.toString('hex')}`);
    expect(names).toContain('host');
  });

  it('are asked for once by many requests, and again before they expire', async () => {
    let [now, asked] = [AT, 0];
    const credentials = async () => ({ ...CREDENTIALS, expiration: new Date(AT + 3_600_000 * ++asked) });
    const sign = openAuth({ iam: { credentials } }, API, () => now);
    await Promise.all([sign(request(API)), sign(request(API))]);
    now += 54 * 60_000;
    await sign(request(API));
    expect(asked).toBe(1);
    now += 2 * 60_000;
    await sign(request(API));
    expect(asked).toBe(2);
  });

  it('that were not to be had once are asked for again', async () => {
    let asked = 0;
    const credentials = async () => (asked++ === 0 ? Promise.reject(new Error('no network')) : CREDENTIALS);
    const sign = openAuth({ iam: { credentials } }, API);
    await expect(sign(request(API))).rejects.toThrow('no network');
    expect(await sign(request(API))).toHaveProperty('authorization');
  });

  it('that live on are used while no new ones are to be had', async () => {
    let [now, asked] = [AT, 0];
    const sign = openAuth(
      {
        iam: {
          credentials: async () => {
            if (asked++ > 0) throw new Error('no network');
            return { ...CREDENTIALS, expiration: new Date(AT + 3_600_000) };
          },
        },
      },
      API,
      () => now,
    );
    await sign(request(API));
    now += 57 * 60_000;
    expect(await sign(request(API))).toHaveProperty('authorization');
    expect(asked).toBe(2);
    now += 150_000; // half a minute of life is left
    await expect(sign(request(API))).rejects.toThrow('no network');
  });

  it('of a provider that does not answer are asked for once more after a while', async () => {
    let [now, asked] = [AT, 0];
    const never = new Promise<typeof CREDENTIALS>(() => {});
    const credentials = () => (asked++ === 0 ? never : Promise.resolve(CREDENTIALS));
    const sign = openAuth({ iam: { credentials } }, API, () => now);
    void sign(request(API)); // its caller has a deadline
    await new Promise((resolve) => setImmediate(resolve));
    now += 30_000;
    expect(await sign(request(API))).toHaveProperty('authorization');
  });

  it('are for Lambda where the host is that of a function URL', async () => {
    const url = new URL('https://abc.lambda-url.eu-central-1.on.aws');
    const { authorization } = await signed({ iam: { credentials: CREDENTIALS } }, url);
    expect(authorization).toContain('/eu-central-1/lambda/aws4_request');
  });

  it('need a region that is in the host name, the options or the environment', async () => {
    const custom = new URL('https://events.example.com');
    delete process.env.AWS_REGION;
    expect(() => openAuth({ iam: {} }, custom)).toThrow(/region/);
    const { authorization } = await signed({ iam: { region: 'us-west-2', credentials: CREDENTIALS } }, custom);
    expect(authorization).toContain('/us-west-2/execute-api/');
  });
});
