/** What a cell of a table shows; undefined: there is no such figure. */
export type Cell = string | number | undefined;

/** Rows as they go into the JSON file, and the heads of their columns in the table, in order. */
export interface Table {
  readonly caption: string;
  readonly heads: Readonly<Record<string, string>>;
  readonly rows: readonly Readonly<Record<string, Cell>>[];
}

/** A figure that follows from the design, so that it holds on every machine: a count, never a time. */
export interface Law {
  readonly law: string;
  /** Where it was seen broken, in words. */
  readonly broken: readonly string[];
}

/** What one part of the bench found. */
export interface Section {
  readonly title: string;
  readonly tables: readonly Table[];
  readonly laws: readonly Law[];
  readonly notes: readonly string[];
}

/** Told what begins now. */
export type Progress = (step: string) => void;

/** A table whose rows have a cell under every head. */
export function tableOf<Row extends object>(
  caption: string,
  heads: { readonly [Key in keyof Row]-?: string },
  rows: readonly Row[],
): Table {
  return { caption, heads, rows: rows as readonly Record<string, Cell>[] };
}

/** A quarter of the values are no larger: of CPU times the undisturbed ones, for what a machine does besides only adds. */
export function lowerQuartile(values: readonly number[]): number {
  const found = [...values].sort((a, b) => a - b)[(values.length - 1) >> 2];
  if (found === undefined) throw new Error('nothing has no quartile');
  return found;
}

/** The middle value; of an even number the mean of the middle two. @throws {Error} when there is none */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  if (low === undefined || high === undefined) throw new Error('nothing has no median');
  return (low + high) / 2;
}
