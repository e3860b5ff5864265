import { CsvError, parse } from 'csv-parse';
import { RECORD_BYTES_MAX } from '../shared/domain/limits.ts';
import { type BadInput, type InputEntry, jsonRecord } from './input-lines.ts';

/** What is wrong with one row alone. Behind any other fault, quotes above all, nobody knows where the next row begins. */
const OF_ONE_ROW: readonly string[] = ['CSV_RECORD_INCONSISTENT_COLUMNS', 'CSV_RECORD_INCONSISTENT_FIELDS_LENGTH'];

/**
 * Rows of a CSV (RFC 4180) as JSON objects, the names taken from its first line, every value a string. Some at a time,
 * in their order, those that are no rows among them. It ends where rows cannot be told apart any more.
 *
 * @param keyPath leads to the key within the object, so that it is a column's name
 */
export async function* csvRecords(
  input: AsyncIterable<Uint8Array>,
  keyPath: readonly string[] | undefined,
): AsyncGenerator<InputEntry[]> {
  let entries: InputEntry[] = [];
  const parser = parse({
    bom: true,
    columns: namesOf,
    max_record_size: RECORD_BYTES_MAX,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error) => void (error && entries.push(badRow(error))),
    // Taken here and not from the stream, which drops rows that it has read when it fails.
    on_record: (row, { lines }) => void entries.push(jsonRecord(lines, Buffer.from(JSON.stringify(row)), keyPath)),
  });
  parser.on('error', () => {}); // told by the callbacks below
  parser.resume();
  const taken = () => {
    const last = entries.findIndex((entry) => 'fault' in entry && entry.final);
    const some = last < 0 ? entries : entries.slice(0, last + 1);
    entries = [];
    return { some, isOver: last >= 0 };
  };
  try {
    for await (const chunk of input) {
      await told((done) => parser.write(chunk, done));
      if (entries.length === 0) continue;
      const { some, isOver } = taken();
      yield some;
      if (isOver) return;
    }
    await told((done) => parser.end(done));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    entries.push(badRow(error)); // the header: without it there is nothing to go on with
  }
  if (entries.length > 0) yield taken().some;
}

function told(act: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => act((error) => (error ? reject(error) : resolve())));
}

/** @throws {CsvError} when the names are none */
function namesOf(names: string[]): string[] {
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  const wrong = twice !== undefined ? `it names '${twice}' twice` : names.includes('') ? 'a name is empty' : undefined;
  if (wrong === undefined) return names;
  throw new CsvError('CSV_INVALID_COLUMN_DEFINITION', `the header cannot be used: ${wrong}`, {} as never, { lines: 1 });
}

function badRow(error: CsvError): BadInput {
  const { lines } = error as { lines?: number };
  return { line: lines ?? 0, fault: error.message, ...(!OF_ONE_ROW.includes(error.code) && { final: true }) };
}
