import { describe, expect, it } from 'vitest';
import { jsonKindOf } from '../../../shared/wire/json-kind.ts';

const kind = (text: string) => jsonKindOf(Buffer.from(text));

describe('what a text is as JSON', () => {
  it.each(['{"a":[1,2,{}]}', ' 1 ', '"null"', 'true', '[null]', `${'['.repeat(100)}${']'.repeat(100)}`])(
    'is a value: %s',
    (text) => expect(kind(text)).toBe('value'),
  );

  it.each(['null', ' null\n'])('is null: %j', (text) => expect(kind(text)).toBe('null'));

  it.each(['', ' ', '1 2', '{"a":}', 'nul', 'null,', 'NaN', '\ufeff1', "'a'"])('is none: %j', (text) =>
    expect(kind(text)).toBeUndefined(),
  );
});
