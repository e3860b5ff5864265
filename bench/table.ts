import type { Cell, Section, Table } from './section.ts';

/** A section as plain text. */
export function renderSection(letter: string, { title, tables, laws, notes }: Section): string {
  return [
    `${letter}  ${title}`,
    ...tables.map((table) => `${table.caption}\n${indented(renderTable(table))}`),
    laws.map(({ law, broken }) => [`${broken.length === 0 ? 'holds ' : 'BROKEN'}  ${law}`, ...broken.map(nested)]),
    notes,
  ]
    .flat(2)
    .join('\n');
}

/** Columns side by side: numbers to the right, words to the left. */
export function renderTable({ heads, rows }: Table): string {
  const columns = Object.entries(heads).map(([key, head]) => {
    const cells = rows.map((row) => row[key]);
    const texts = [head, ...cells.map(textOf)];
    const width = Math.max(...texts.map((text) => text.length));
    const words = cells.some((cell) => typeof cell === 'string');
    return texts.map((text) => (words ? text.padEnd(width) : text.padStart(width)));
  });
  const lines = Array.from({ length: rows.length + 1 }, (_, i) => columns.map((column) => column[i]!).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Four significant digits are more than any measurement here has; whole numbers are counts and stay as they are. */
function textOf(cell: Cell): string {
  if (cell === undefined || Number.isNaN(cell)) return '–';
  if (typeof cell === 'string') return cell;
  if (Number.isInteger(cell)) return grouped(cell);
  if (Math.abs(cell) >= 1_000) return grouped(Math.round(cell));
  return cell.toFixed(Math.abs(cell) >= 100 ? 0 : Math.abs(cell) >= 10 ? 1 : 2);
}

function grouped(whole: number): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ' ');
}

function indented(text: string): string {
  return text.replace(/^/gm, '  ');
}

const nested = (line: string) => `        ${line}`;
