import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { LAMBDA_ANSWER_BYTES_MAX } from '../../../shared/domain/limits.ts';
import { ANSWER_BODY_BYTES_MAX, escapedBytes, toGatewayResult } from '../../../shared/wire/http-answer.ts';

const QUARTER = LAMBDA_ANSWER_BYTES_MAX / 4;
const texts: [string, string, 'text' | 'base64'][] = [
  ['a small text', '{"é":"\\n"}', 'text'],
  ['a text of which each byte may be escaped', '"'.repeat(1.9 * QUARTER), 'text'],
  ['a larger one', 'é'.repeat(1.2 * QUARTER), 'base64'],
  ['one too large for base64', 'a'.repeat(ANSWER_BODY_BYTES_MAX + 1), 'text'],
];

describe('a text', () => {
  it.each(texts)('travels the same as a string and as bytes: %s', (_, text, form) => {
    const [asString, asBytes] = [
      toGatewayResult({ status: 200, body: text }, undefined),
      toGatewayResult({ status: 200, body: Buffer.from(text), isText: true }, undefined),
    ];
    expect(asBytes).toEqual(asString);
    expect(asString.isBase64Encoded ?? false).toBe(form === 'base64');
    const body = Buffer.from(asString.body!, form === 'base64' ? 'base64' : 'utf8').toString();
    expect(body === text).toBe(true);
    expect(Buffer.byteLength(JSON.stringify(asString))).toBeLessThanOrEqual(LAMBDA_ANSWER_BYTES_MAX);
  });

  it('is compressed as bytes too, for who takes gzip', () => {
    const { body, headers } = toGatewayResult(
      { status: 200, body: Buffer.from('a'.repeat(5_000)), isText: true },
      'gzip',
    );
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(gunzipSync(Buffer.from(body!, 'base64')).toString()).toBe('a'.repeat(5_000));
  });

  it('is refused when it fits neither way', () => {
    const body = Buffer.alloc(ANSWER_BODY_BYTES_MAX + 1, '"');
    expect(() => toGatewayResult({ status: 200, body, isText: true }, undefined)).toThrow(/does not fit/);
  });

  it('takes as many bytes as a JSON string as JSON.stringify says', () => {
    const text = Array.from({ length: 0x300 }, (_, code) => String.fromCharCode(code)).join('');
    expect(escapedBytes(Buffer.from(text))).toBe(Buffer.byteLength(JSON.stringify(text)));
  });
});

it('bytes that are no text are not compressed', () => {
  const { headers, isBase64Encoded } = toGatewayResult({ status: 200, body: Buffer.alloc(5_000) }, 'gzip');
  expect(isBase64Encoded).toBe(true);
  expect(headers).not.toHaveProperty('content-encoding');
});
