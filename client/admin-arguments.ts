import type { OffsetTarget } from './admin-words.ts';
import { InvalidOptions } from './errors.ts';

export function targetOf(to: OffsetTarget) {
  return typeof to === 'object' && 'at' in to ? { at: rfc3339(to.at) } : to;
}

/** @throws {InvalidOptions} */
export function rfc3339(at: number | Date): string {
  if (Number.isNaN(new Date(at).getTime())) throw new InvalidOptions(`${String(at)} is no time`);
  return new Date(at).toISOString();
}

/** A text would be taken letter by letter: topics whose names have one letter. @throws {InvalidOptions} */
export function list<T>(name: string, items: readonly T[]): readonly T[] {
  if (Array.isArray(items)) return items;
  throw new InvalidOptions(`'${name}' must be a list, not ${typeof items}`);
}
