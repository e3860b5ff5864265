import { describe, expect, it } from 'vitest';
import { JsonWriter } from '../../../shared/wire/json-writer.ts';

const bytes = (text: string) => Buffer.from(text);

describe('a JSON writer', () => {
  it('puts what stands before and behind around what was written, however long that is', () => {
    for (const length of [0, 1, 47, 48, 49, 100_000]) {
      const writer = new JsonWriter(10);
      writer.copy(bytes('é'.repeat(length)), 0, 2 * length);
      expect(writer.length).toBe(2 * length);
      expect(writer.finish(bytes('<'), bytes('>'))).toBe(`<${'é'.repeat(length)}>`);
    }
  });

  it('takes back what was written since', () => {
    const writer = new JsonWriter(4);
    writer.integer(12);
    writer.piece(bytes(',34'));
    writer.length = 2;
    expect(writer.written().toString()).toBe('12');
    expect(writer.finish(bytes('[[[['), bytes(']'))).toBe('[[[[12]');
  });

  it('leaves a large text in its bytes, and grows no further than it is told', () => {
    const writer = new JsonWriter(1, 1_500_002);
    for (let i = 0; i < 3; i++) writer.copy(bytes('é'.repeat(250_000)), 0, 500_000);
    const text = writer.finish(bytes('<'), bytes('>'));
    expect(text).toBeInstanceOf(Buffer);
    expect((text as Buffer).equals(bytes(`<${'é'.repeat(750_000)}>`))).toBe(true);
    expect((text as Buffer).buffer.byteLength).toBeLessThan(1_600_000);
  });

  it('is not copied by every write when it holds more than it was told', () => {
    const writer = new JsonWriter(0, 10);
    writer.copy(Buffer.alloc(1_100_000, 'a'), 0, 1_100_000);
    const buffers = new Set<ArrayBufferLike>();
    for (let i = 0; i < 1_000; i++) {
      writer.piece(bytes(',1'));
      buffers.add(writer.written().buffer);
    }
    expect(buffers.size).toBe(1);
    expect(writer.length).toBe(1_102_000);
  });

  it('never shares its memory with another that is at work', () => {
    new JsonWriter().finish(bytes(''), bytes('a'.repeat(1_000)));
    const [one, other] = [new JsonWriter(), new JsonWriter()];
    one.copy(bytes('1'.repeat(500)), 0, 500);
    other.copy(bytes('2'.repeat(500)), 0, 500);
    expect(one.finish(bytes(''), bytes(''))).toBe('1'.repeat(500));
    const third = new JsonWriter();
    third.copy(bytes('3'.repeat(500)), 0, 500);
    expect(other.finish(bytes(''), bytes(''))).toBe('2'.repeat(500));
    expect(third.finish(bytes(''), bytes(''))).toBe('3'.repeat(500));
  });
});
