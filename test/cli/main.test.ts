import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { VERSION } from '../../shared/wire/version.ts';
import { command, commandLine } from '../support/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** An endpoint that answers everything alike, and keeps the headers of what was asked last. */
async function endpoint(
  status: number,
  problem: object = {},
): Promise<{ url: string; headers(): IncomingHttpHeaders }> {
  let headers: IncomingHttpHeaders = {};
  const server = createServer((request, response) => {
    ({ headers } = request);
    response.writeHead(status, { 'content-type': status === 200 ? 'application/json' : 'application/problem+json' });
    response.end(JSON.stringify(problem));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, headers: () => headers };
}

const NOTHING = { topics: [] };

describe('vertebra', () => {
  it('explains itself and its commands, with examples', async () => {
    const help = await command('', ['--help']);
    expect(help).toMatchObject({ code: 0, err: '' });
    for (const name of ['topics', 'produce', 'consume', 'groups', 'up']) {
      expect(help.out).toMatch(new RegExp(`^  ${name} `, 'm'));
      const { code, out } = await command('', [name, '--help']);
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`Examples:\\n {2}[$] .*vertebra ${name}`));
      expect(out).toContain('--endpoint <url>');
    }
    expect(help.out).toContain('Exit codes: 0 done');
    expect(await command('', ['--version'])).toEqual({ code: 0, out: `${VERSION}\n`, err: '' });
  });

  it.each([
    [[], 'Usage: vertebra [options] [command]'],
    [['topics'], 'Usage: vertebra topics [options] [command]'],
    [['topic', 'list'], "vertebra: unknown command 'topic'\n(Did you mean topics?)"],
    [['--endpont', 'x', 'topics', 'list'], "vertebra: unknown option '--endpont'"],
    [['topics', 'list', '--endpoint'], "vertebra: option '--endpoint <url>' argument missing"],
    [['topics', 'list', '--endpoint', 'localhost'], "vertebra: 'endpoint' must be an http or https URL"],
    [['topics', 'list', '--api-key', 'a', '--profile', 'b'], 'vertebra: --profile and --api-key exclude each other'],
    [
      ['topics', 'list', '--endpoint', 'http://example.org', '--api-key', 'a'],
      'vertebra: An API key would be readable',
    ],
  ])('that is called wrongly ends with 2: %j', async (args, complaint) => {
    const result = await command('http://127.0.0.1:1', args);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toContain(complaint);
  });

  it.each([
    [400, 'invalid_request', 2],
    [401, 'unauthenticated', 4],
    [403, 'forbidden', 4],
    [404, 'topic_not_found', 3],
    [409, 'partitions_cannot_shrink', 5],
    [413, 'request_too_large', 1],
  ])('ends after an answer of %d (%s) with %d, and says why', async (status, code, exitCode) => {
    const { url } = await endpoint(status, { status, code, detail: 'So \u001b[2J it is', principal: 'key:1' });
    expect(await command(url, ['topics', 'list'])).toEqual({
      code: exitCode,
      out: '',
      err: `vertebra: So \ufffd[2J it is (${status} ${code})\n`, // no terminal obeys it
    });
    const told = await command(url, ['--json', 'topics', 'list']);
    expect([told.code, told.out]).toEqual([exitCode, '']);
    expect(JSON.parse(told.err)).toMatchObject({ error: { code, effect: 'none', retryable: false } });
  });

  it('ends with 6 when there is nobody, and says what may help', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    onTestFinished(() => void vi.useRealTimers());
    let ended = false;
    const running = command(`http://127.0.0.1:${port}`, ['topics', 'list']).finally(() => {
      ended = true;
    });
    while (!ended) {
      await vi.advanceTimersByTimeAsync(100);
      await new Promise(setImmediate);
    }
    const result = await running;
    expect(result).toMatchObject({ code: 6, out: '' });
    expect(result.err).toMatch(
      /tried again: .*\nvertebra: .* cannot be reached: .*\nIs it running \("vertebra up"\)\?/,
    );
  });

  it('sends the API key that it is given, the option before the environment', async () => {
    const { url, headers } = await endpoint(200, NOTHING);
    await command(url, ['topics', 'list'], { env: { VERTEBRA_API_KEY: 'from-environment' } });
    expect(headers().authorization).toBe('Bearer from-environment');
    await command(url, ['topics', 'list', '--api-key', 'given'], { env: { VERTEBRA_API_KEY: 'from-environment' } });
    expect(headers().authorization).toBe('Bearer given');
    await command(url, ['topics', 'list']);
    expect(headers().authorization).toBeUndefined();
    expect(headers()['user-agent']).toBe(`vertebra/${VERSION} cli`);
  });

  it('says what may help when the gateway lets nobody through, not where the API says it itself', async () => {
    const gateway = await endpoint(403, { message: 'Forbidden' });
    const shut = await command(gateway.url, ['keys', 'list'], { env: { VERTEBRA_API_KEY: 'some-key' } });
    expect(shut).toMatchObject({ code: 4, err: expect.stringMatching(/^vertebra: Forbidden .*\n.*--profile/) });
    const problem = { code: 'forbidden', detail: 'key:1 has no right', principal: 'key:1', right: 'produce' };
    const api = await endpoint(403, problem);
    const refused = await command(api.url, ['topics', 'list']);
    expect(refused).toEqual({ code: 4, out: '', err: 'vertebra: key:1 has no right (403 forbidden)\n' });
  });

  it("signs with an AWS profile's credentials", async () => {
    const file = join(temporaryFolder(), 'credentials');
    writeFileSync(file, '[staging]\naws_access_key_id = AKIDSTAGING\naws_secret_access_key = secret\n');
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file);
    vi.stubEnv('AWS_CONFIG_FILE', join(temporaryFolder(), 'none'));
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { url, headers } = await endpoint(200, NOTHING);
    const env = { VERTEBRA_API_KEY: 'from-environment' };
    expect(await command(url, ['topics', 'list', '--profile', 'staging'], { env })).toMatchObject({ code: 0 });
    expect(headers().authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDSTAGING\/\d+\/eu-central-1\/execute-api\//,
    );
  });

  it('ends with 4 when there are no credentials, and with 2 when there is no region', async () => {
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(temporaryFolder(), 'none'));
    vi.stubEnv('AWS_CONFIG_FILE', join(temporaryFolder(), 'none'));
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const args = ['topics', 'list', '--profile', 'nobody'];
    expect(await command('http://127.0.0.1:1', args)).toMatchObject({
      code: 4,
      out: '',
      err: expect.stringMatching(/^vertebra: .*credentials.*\n$/),
    });
    vi.stubEnv('AWS_REGION', undefined);
    expect(await command('http://127.0.0.1:1', args)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^vertebra: The region of 127\.0\.0\.1 .*\nHere: set AWS_REGION\.\n$/),
    });
  });

  it('takes the endpoint from the option before the environment', async () => {
    const [one, other] = [await endpoint(200, NOTHING), await endpoint(404, { code: 'not_found', detail: 'no' })];
    expect(await command(one.url, ['topics', 'list', '--endpoint', other.url])).toMatchObject({ code: 3 });
    expect(await command(one.url, ['topics', 'list'])).toMatchObject({ code: 0 });
  });

  it('ends at once when it is interrupted while it waits', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const line = commandLine({ env: { VERTEBRA_ENDPOINT: `http://127.0.0.1:${port}` } });
    const running = line.run('topics', 'list');
    await once(server, 'request');
    line.interrupt();
    expect(await running).toBe(130);
    expect([line.out(), line.err()]).toEqual(['', '']);
  });
});
