import { parseArgs } from 'node:util';

export interface Options {
  readonly orders: number;
  /** Orders per second; 0: as fast as they are taken. */
  readonly rate: number;
  /** Of 1, before and after each call that a function makes. */
  readonly crashes: number;
  readonly seed: number;
  readonly partitions: number;
  /** Goes on taking orders at the end. */
  readonly stay: boolean;
}

export const HELP = `Runs the order system and the backbone below it in one process, then checks its books.

Usage: npm run example:orders
       npm run example:orders -- [options]

  --orders <number>      how many are placed (default 300)
  --rate <per second>    how fast; 0: as fast as they are taken (default 30)
  --crashes <0 to 0.2>   how often a function dies, before and after each call that it makes (default 0)
  --seed <number>        what is ordered, and where it crashes (default 1)
  --partitions <number>  of the topic (default 8)
  --stay                 goes on taking orders until Ctrl-C
  --help                 print this`;

/** @throws {Error} saying which option cannot be meant */
export function readOptions(given: readonly string[]): Options | 'help' {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...given],
    options: { orders: text, rate: text, crashes: text, seed: text, partitions: text, stay: flag, help: flag },
  });
  if (values.help) return 'help';
  const number = (name: 'orders' | 'rate' | 'crashes' | 'seed' | 'partitions', byDefault: number, range: Range) => {
    const value = Number(values[name] ?? byDefault);
    const fits = value >= range.from && value <= range.to && (range.isWhole === false || Number.isInteger(value));
    if (!fits) throw new Error(`--${name} must be ${range.from} to ${range.to}, not ${values[name]}`);
    return value;
  };
  return {
    orders: number('orders', 300, { from: 1, to: 1_000_000 }),
    rate: number('rate', 30, { from: 0, to: 100_000, isWhole: false }),
    crashes: number('crashes', 0, { from: 0, to: 0.2, isWhole: false }),
    seed: number('seed', 1, { from: 0, to: 2 ** 32 }),
    partitions: number('partitions', 8, { from: 1, to: 64 }),
    stay: values.stay,
  };
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly isWhole?: boolean;
}
