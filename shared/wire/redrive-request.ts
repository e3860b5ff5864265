import { isUtf8 } from 'node:buffer';
import type { Correction, DeadLetterState } from '../domain/dead-letter.ts';
import { InvalidRequest, RecordTooLarge } from '../domain/errors.ts';
import { RECORD_BYTES_MAX, REDRIVE_LETTERS_MAX, REDRIVE_RATE_MAX } from '../domain/limits.ts';
import { instant } from './group-admin-requests.ts';
import {
  bodyFields,
  choice,
  flag,
  groupOf,
  integer,
  invalid,
  letterId,
  list,
  object,
  partitionNumber,
  type Read,
  text,
  topicName,
} from './group-fields.ts';
import type { ApiRequest } from './http-request.ts';
import { FieldFault } from './record-fault.ts';
import { parseRecord } from './record-fields.ts';
import { RecordText } from './record-text.ts';

/** Which dead letters are to be given back, and how. */
export interface RedriveRequest {
  readonly group: string;
  readonly wanted:
    | { readonly ids: readonly string[]; readonly corrections: ReadonlyMap<string, Correction> }
    | { readonly filter: RedriveFilter };
  readonly ratePerSecond?: number;
  readonly isDryRun: boolean;
}

/** As a list of dead letters takes it. */
export interface RedriveFilter {
  readonly topic?: string;
  readonly partition?: number;
  readonly key?: string;
  readonly since?: number;
  readonly state?: DeadLetterState;
}

const IDS = list(letterId, REDRIVE_LETTERS_MAX, String, 1);
const FILTER = object(['topic', 'partition', 'key', 'since', 'state'], (fields): RedriveFilter => {
  const topic = fields.optional('topic', topicName);
  const partition = fields.optional('partition', partitionNumber);
  const key = fields.optional('key', text(RECORD_BYTES_MAX));
  const since = fields.optional('since', instant);
  const state = fields.optional('state', choice('stored', 'redriving'));
  return {
    ...(topic !== undefined && { topic }),
    ...(partition !== undefined && { partition }),
    ...(key !== undefined && { key }),
    ...(since !== undefined && { since }),
    ...(state !== undefined && { state }),
  };
});
/** What a correction says of a record; its id is looked at before. */
type SentRecord = Readonly<Record<string, unknown>>;
const any: Read<unknown> = (value) => value;
const RECORDS = list(
  object(['id', 'value', 'valueEncoding', 'headers'], (fields) => {
    const [value, valueEncoding, headers] = (['value', 'valueEncoding', 'headers'] as const).map((name) =>
      fields.optional(name, any),
    );
    return { id: fields.required('id', letterId), sent: { value, valueEncoding, headers } as SentRecord };
  }),
  REDRIVE_LETTERS_MAX,
  ({ id }) => id,
  1,
);

/** @throws {InvalidRequest} naming the field that is missing, unknown, of the wrong type or out of its range */
export function parseRedriveRequest(request: ApiRequest): RedriveRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, ['ids', 'filter', 'records', 'ratePerSecond', 'dryRun']);
  const records = fields.optional('records', RECORDS) ?? [];
  const ids = fields.optional('ids', IDS) ?? [];
  const filter = fields.optional('filter', FILTER);
  const ratePerSecond = fields.optional('ratePerSecond', integer(1, REDRIVE_RATE_MAX));
  const isDryRun = fields.optional('dryRun', flag) ?? false;
  const rest = { group, isDryRun, ...(ratePerSecond !== undefined && { ratePerSecond }) };
  const named = [...new Set([...ids, ...records.map(({ id }) => id)])];
  if (named.length > REDRIVE_LETTERS_MAX) {
    throw invalid('ids', `and 'records' must name no more than ${REDRIVE_LETTERS_MAX} dead letters together`);
  }
  if (named.length > 0 && filter === undefined) {
    return { ...rest, wanted: { ids: named, corrections: correctionsIn(request.readBody(), records) } };
  }
  if (filter !== undefined && named.length === 0) return { ...rest, wanted: { filter } };
  throw new InvalidRequest(
    "Either 'filter' is required, {} meaning all, or dead letters that are named by 'ids' and 'records'",
    { field: 'ids' },
  );
}

/** Values that are JSON are taken as the text that was sent, as produce takes them. */
function correctionsIn(
  body: Uint8Array,
  records: readonly { readonly id: string; readonly sent: SentRecord }[],
): Map<string, Correction> {
  if (records.length > 0 && !isUtf8(body)) throw new InvalidRequest('The body is not valid UTF-8');
  const source = RecordText.of(body, records.length, 'utf8');
  return new Map(records.map(({ id, sent }, index) => [id, correctionOf(sent, source, index)]));
}

function correctionOf(sent: SentRecord, source: RecordText, index: number): Correction {
  const { value, valueEncoding, headers } = sent;
  const field = `records[${index}]`;
  if (valueEncoding === 'upload') throw invalid(`${field}.valueEncoding`, 'must be json, utf8 or base64');
  if (value === undefined && valueEncoding !== undefined) throw invalid(`${field}.value`, 'is required');
  try {
    // A field that is there and undefined is as one that is absent, but for the value, of which null is the least.
    const { record, json } = parseRecord({ value: null, ...present({ value, valueEncoding, headers }) }, source, index);
    const bytes = (record.value?.length ?? 0) + record.headers.reduce((sum, each) => sum + bytesOf(each), 0);
    if (bytes > RECORD_BYTES_MAX) throw new RecordTooLarge(index, bytes, RECORD_BYTES_MAX);
    return {
      ...(value !== undefined && { value: record.value, json }),
      ...(headers !== undefined && { headers: record.headers }),
    };
  } catch (error) {
    if (error instanceof FieldFault) throw invalid(`${field}.${error.field}`, error.message);
    throw error;
  }
}

function bytesOf({ name, value }: { readonly name: string; readonly value: Uint8Array | null }): number {
  return Buffer.byteLength(name) + (value?.length ?? 0);
}

function present(fields: SentRecord): SentRecord {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
