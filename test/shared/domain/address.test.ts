import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inBlock, isPublicAddress, parseAddress, parseBlock } from '../../../shared/domain/address.ts';

const PUBLIC = ['8.8.8.8', '1.1.1.1', '100.63.255.255', '172.32.0.1', '192.0.3.1', '223.255.255.255'];
const PUBLIC_6 = ['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '2001:4860:4860::8888'];
const NOT_PUBLIC = [
  ...[
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.0.9',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
  ],
  ...['192.0.0.8', '192.0.2.7', '192.88.99.1', '192.168.1.1', '198.18.0.1', '198.51.100.3', '203.0.113.9'],
  ...['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:8.8.8.8', '64:ff9b::7f00:1', 'fd00:ec2::254'],
  ...['fe80::1', 'fec0::1', 'ff02::1', '2001:db8::1', '2001::1', '2002:7f00:1::', '3fff::1', '100::1', '5f00::1'],
];

describe('an address', () => {
  it.each([...PUBLIC, ...PUBLIC_6])('%s is public', (text) => {
    expect(isPublicAddress(parseAddress(text)!)).toBe(true);
  });

  it.each(NOT_PUBLIC)('%s is not public', (text) => {
    expect(isPublicAddress(parseAddress(text)!)).toBe(false);
  });

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.',
    '01.2.3.4',
    '1.2.3.256',
    '1.2.3.4.5',
    '0x7f.1',
    '1:2',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7:8:9',
  ])("is not spelt '%s'", (text) => expect(parseAddress(text)).toBeUndefined());

  it('is spelt as Node says that it is, whatever the text', () => {
    const part = fc.constantFrom('::', ':', '1', '0', 'ffff', '12345', '.', '127.0.0.1', '1.2.3.4', 'g', 'a9fe');
    const texts = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.array(part, { maxLength: 10 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(parseAddress(text)?.length).toBe({ 0: undefined, 4: 4, 6: 16 }[isIP(text)]);
      }),
    );
  });
});

describe('a block', () => {
  it.each([
    ['10.0.0.0/24', '10.0.0.255', true],
    ['10.0.0.0/24', '10.0.1.0', false],
    ['10.0.0.77/24', '10.0.0.1', true],
    ['10.0.0.128/25', '10.0.0.127', false],
    ['10.0.0.128/25', '10.0.0.129', true],
    ['0.0.0.0/0', '255.1.2.3', true],
    ['0.0.0.0/0', '::1', false],
    ['1.2.3.4/32', '1.2.3.4', true],
    ['1.2.3.4/32', '1.2.3.5', false],
    ['2001:db8::/33', '2001:db8:7fff::1', true],
    ['2001:db8::/33', '2001:db8:8000::1', false],
    ['::1/128', '::1', true],
  ])('%s has %s: %s', (block, address, expected) => {
    expect(inBlock(parseAddress(address)!, parseBlock(block)!)).toBe(expected);
  });

  it.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/08', '::/129', '/8', 'a/8', '1.2.3.4/8/9'])(
    "is not spelt '%s'",
    (text) => expect(parseBlock(text)).toBeUndefined(),
  );
});
