import { InvalidOptions } from './errors.ts';

/** Refusals of options that cannot be meant. All throw `InvalidOptions`, naming the option. */

/** A name that is not known is one that was misspelt, or another client's, as `autoCommit`: nothing would come of it. */
export function known(whose: string, options: object | undefined, names: readonly string[]): void {
  const odd = Object.keys(options ?? {}).find((name) => !names.includes(name));
  if (odd !== undefined) throw new InvalidOptions(`${whose} has no option '${odd}'`);
}

export function integer(option: string, value: unknown, min: number, max: number): void {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return;
  throw new InvalidOptions(`'${option}' must be an integer of ${min} to ${max}, not ${String(value)}`);
}

export function name(option: string, value: unknown, form: RegExp, charsMax: number): void {
  if (typeof value === 'string' && form.test(value) && value.length <= charsMax) return;
  throw new InvalidOptions(`'${option}' must be a name of 1 to ${charsMax} characters, not ${JSON.stringify(value)}`);
}

export function oneOf(option: string, value: unknown, values: readonly string[]): void {
  if (values.some((candidate) => candidate === value)) return;
  throw new InvalidOptions(`'${option}' must be one of ${values.join(', ')}, not ${String(value)}`);
}
