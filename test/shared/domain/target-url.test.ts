import { describe, expect, it } from 'vitest';
import { TargetNotAllowed } from '../../../shared/domain/target-errors.ts';
import { secretsAt, withSecret } from '../../../shared/domain/target-spec.ts';
import { checkAddressText, parseTargetUrl } from '../../../shared/domain/target-url.ts';

const DEPLOYED = { loopback: false, ownHosts: ['abc.execute-api.eu-central-1.amazonaws.com'] };
const EMBEDDED = { loopback: true, ownHosts: [] };
/** Refused wherever the backbone runs. */
const NEVER = [
  ...[
    '',
    'x',
    'ftp://example.com/',
    'file:///etc/passwd',
    'http://example.com/',
    `https://example.com/${'a'.repeat(2_048)}`,
  ],
  ...['https://user:pw@example.com/', 'https://user@example.com/', 'https://:pw@example.com/'],
  ...['https://example.com:22/', 'https://example.com:25/', 'https://example.com:1023/', 'https://example.com:0/'],
  ...['https://10.0.0.1/', 'https://192.168.1.1/', 'https://169.254.169.254/latest', 'https://100.100.100.200/'],
  ...['https://[::ffff:127.0.0.1]/', 'https://[::ffff:169.254.169.254]/', 'https://[::ffff:a9fe:a9fe]/'],
  ...[
    'https://[fd00:ec2::254]/',
    'https://[fe80::1]/',
    'https://[::]/',
    'https://0.0.0.0/',
    'https://[64:ff9b::7f00:1]/',
  ],
  ...['https://127.0.0.1/', 'https://[::1]/', 'https://0x7f.1/', 'https://2130706433/', 'https://0177.0.0.1/'],
  ...[
    'https://127.1/',
    'https://①②⑦.⓪.⓪.①/',
    'https://１２７.0.0.1/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://127.1/',
  ],
  ...[
    'http://0177.0.0.1/',
    'http://①②⑦.⓪.⓪.①/',
    'http://127.0.0.2/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost./',
  ],
  ...[
    'http://127.0.0.1:22/',
    'http://localhost:80@10.0.0.1/',
    'http://127.0.0.1.example.com/',
    'http://localhost\\@10.0.0.1/',
  ],
];

describe('a URL', () => {
  it.each(NEVER)('%s is refused', (text) => {
    expect(() => parseTargetUrl(text, DEPLOYED)).toThrow(TargetNotAllowed);
    expect(() => parseTargetUrl(text, EMBEDDED)).toThrow(TargetNotAllowed);
  });

  it.each([
    'https://example.com',
    'https://example.com:443/a?b=c',
    'https://example.com:8443/',
    'https://8.8.8.8/',
    'https://[2606:4700::1]:1024/',
    'https://bücher.example/',
  ])('%s is allowed', (text) => {
    expect(parseTargetUrl(text, DEPLOYED).loopback).toBe(false);
    expect(parseTargetUrl(text, EMBEDDED).loopback).toBe(false);
  });

  it.each([
    'http://127.0.0.1:9001/',
    'http://localhost:3000/hook',
    'http://LOCALHOST:3000',
    'http://[::1]:8080/',
    'http://127.0.0.1',
  ])('%s is allowed in the embedded backbone alone', (text) => {
    expect(parseTargetUrl(text, EMBEDDED).loopback).toBe(true);
    expect(() => parseTargetUrl(text, DEPLOYED)).toThrow(/https/);
  });

  it.each([
    'https://abc.execute-api.eu-central-1.amazonaws.com/v1',
    'https://ABC.execute-api.eu-central-1.amazonaws.com.:443/',
  ])('%s is the backbone itself', (text) =>
    expect(() => parseTargetUrl(text, DEPLOYED)).toThrow(/the backbone itself/),
  );
});

describe('an address that a name stands for', () => {
  const target = parseTargetUrl('https://hooks.example/', DEPLOYED);
  const local = parseTargetUrl('http://localhost:3000/', EMBEDDED);

  it.each(['8.8.8.8', '2606:4700::1'])('%s may be connected to', (address) => {
    expect(() => checkAddressText(target, address)).not.toThrow();
    expect(() => checkAddressText(local, address)).toThrow(TargetNotAllowed);
  });

  it.each(['127.0.0.1', '::1', '10.0.0.1', '::ffff:8.8.8.8', 'fe80::1%eth0', 'nonsense'])('%s may not', (address) => {
    expect(() => checkAddressText(target, address)).toThrow(TargetNotAllowed);
  });

  it('is of this machine for a target of this machine', () => {
    for (const address of ['127.0.0.1', '::1', '127.0.1.1'])
      expect(() => checkAddressText(local, address)).not.toThrow();
    expect(() => checkAddressText(local, '10.0.0.1')).toThrow(TargetNotAllowed);
  });
});

describe('a secret', () => {
  it('signs for a day after it was replaced, beside the new one', () => {
    const spec = withSecret({ url: 'https://hooks.example/', secret: 'old' }, 'new', 1_000);
    expect(secretsAt(spec, 1_000)).toEqual(['new', 'old']);
    expect(secretsAt(spec, 1_000 + 86_399_999)).toEqual(['new', 'old']);
    expect(secretsAt(spec, 1_000 + 86_400_000)).toEqual(['new']);
    expect(secretsAt(withSecret(spec, 'newer', 2_000), 2_000)).toEqual(['newer', 'new']);
  });
});
