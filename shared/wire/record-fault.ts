import { InvalidRequest, RecordTooLarge } from '../domain/errors.ts';
import { RECORD_BYTES_MAX } from '../domain/limits.ts';

/** What is wrong with one field of one record. Caught where the record's place in the request is known. */
export class FieldFault extends Error {
  constructor(
    readonly field: string,
    reason: string,
  ) {
    super(`${field} ${reason}`);
    this.name = 'FieldFault';
  }
}

/** A record that cannot be taken. */
export interface RecordFault {
  /** Its place among the records of the request, from 0. */
  readonly index: number;
  /** Its line in NDJSON, from 1. */
  readonly line?: number;
  readonly detail: string;
  readonly field: string;
  /** Key + value + headers, when only their size is at fault. */
  readonly bytes?: number;
}

/**
 * Refuses a request with every record that is at fault.
 * @throws {RecordTooLarge} when all of them are only too large
 * @throws {InvalidRequest} with `index` (the first), `indexes` (all) and `field`; of NDJSON also `line` and `lines`
 */
export function refuseRecords(faults: readonly RecordFault[]): never {
  const first = faults[0]!;
  if (faults.every((fault) => fault.bytes !== undefined)) {
    throw new RecordTooLarge(first.index, first.bytes!, RECORD_BYTES_MAX);
  }
  const more = faults.length === 1 ? '' : `, and ${faults.length - 1} more cannot be taken`;
  const where = first.line === undefined ? `Record ${first.index}` : `Line ${first.line}`;
  throw new InvalidRequest(`${where}: ${first.detail}${more}`, {
    index: first.index,
    indexes: faults.map((fault) => fault.index),
    field: first.field,
    ...(first.line !== undefined && { line: first.line, lines: faults.map((fault) => fault.line!) }),
  });
}

/**
 * What a caller sent, short enough to be told in a detail. Of a list or an object only that it is one: it may be of any
 * depth, and writing it out would recurse.
 */
export function quoted(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
