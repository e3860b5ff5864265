import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64 } from '../../../shared/wire/base64.ts';

describe('decodeBase64', () => {
  it('reads what base64 writes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeBase64(Buffer.from(bytes).toString('base64'))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it.each(['/wD+gA=', '/wD+gA', '_wD-gA==', '/wD+gB==', '/wD+ gA==', '/wD+gA==\n', '/wD+gA==AAAA', '=', 'AA=A', 'é'])(
    'refuses %j',
    (text) => {
      expect(decodeBase64(text)).toBeUndefined();
    },
  );

  it('reads the bytes of the vector', () => {
    expect(decodeBase64('/wD+gA==')).toEqual(Buffer.from('ff00fe80', 'hex'));
  });
});
