import { InvalidRequest } from '../domain/errors.ts';

/**
 * The names and indexes that a JSON pointer (RFC 6901) leads along; the empty pointer is the whole value.
 * @throws {InvalidRequest} naming the parameter
 */
export function parseJsonPointer(pointer: string, parameter: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) {
    throw new InvalidRequest(`'${parameter}' must be a JSON pointer (RFC 6901), such as /order/id`, { parameter });
  }
  const steps = pointer.slice(1).split('/');
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
