import { plain } from './terminal.ts';

export interface Column<Row> {
  readonly title: string;
  /** What stands there; a number stands at the right, nothing is a dash. */
  readonly of: (row: Row) => string | number | null | undefined;
}

const GAP = '  ';

/** Rows under titles, each column as wide as what is in it. @returns lines */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string[] {
  const cells = rows.map((row) => columns.map(({ of }) => of(row)));
  const texts = cells.map((row) => row.map(textOf));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...texts.map((row) => row[i]!.length)));
  const isNumber = columns.map((_, i) => cells.some((row) => typeof row[i] === 'number'));
  const lineOf = (row: readonly string[]) =>
    row
      .map((text, i) => (isNumber[i] ? text.padStart(widths[i]!) : text.padEnd(widths[i]!)))
      .join(GAP)
      .trimEnd();
  return [lineOf(columns.map(({ title }) => title)), ...texts.map(lineOf)];
}

function textOf(cell: string | number | null | undefined): string {
  if (cell === null || cell === undefined) return '-';
  return typeof cell === 'number' ? thousands(cell) : plain(cell);
}

/** `12,345` */
export function thousands(count: number): string {
  return count.toLocaleString('en-US');
}
