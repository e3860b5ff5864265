import type { DeliveryBatch, DeliveryRecord, LinkPayload, RecordText } from '../domain/delivery.ts';

/** How records are made to fit. */
export interface Fitting {
  readonly text: RecordText;
  /** Absent: a value that is too large cannot go elsewhere. */
  readonly link?: LinkPayload;
}

/** A record as it goes into a call. */
export interface Fitted {
  readonly record: DeliveryRecord;
  readonly text: string;
  /** Of the text in UTF-8. */
  readonly bytes: number;
}

/** A record as a text of at most so many bytes, by a link in place of its value if need be. @returns undefined: neither fits */
export async function fitRecord(
  batch: DeliveryBatch,
  record: DeliveryRecord,
  bytesMax: number,
  { text, link }: Fitting,
): Promise<Fitted | undefined> {
  const whole = fitted(batch, record, text);
  if (whole.bytes <= bytesMax) return whole;
  if (link === undefined || record.link !== undefined || record.value === null) return undefined;
  const payload = await link(batch, record);
  if (payload === undefined) return undefined;
  const short = fitted(batch, { ...record, link: payload }, text);
  return short.bytes <= bytesMax ? short : undefined;
}

/** What fits into one call: the batch, or the first records of it. */
export interface OneCall {
  readonly batch: DeliveryBatch;
  readonly texts: readonly string[];
  /** Offset of the first record that did not fit beside the others, or at all. */
  readonly next?: number;
}

/**
 * As many records as fit into one call, commas between them.
 * @returns empty, with `next`, when the first one does not fit even alone
 */
export async function fitOneCall(batch: DeliveryBatch, bytesMax: number, fitting: Fitting): Promise<OneCall> {
  const records: DeliveryRecord[] = [];
  const texts: string[] = [];
  let room = bytesMax;
  for (const record of batch.records) {
    const one = await fitRecord(batch, record, bytesMax, fitting);
    if (one === undefined || one.bytes > room) return { batch: { ...batch, records }, texts, next: record.offset };
    room -= one.bytes + 1;
    records.push(record);
    texts.push(one.text);
  }
  return { batch, texts };
}

function fitted(batch: DeliveryBatch, record: DeliveryRecord, write: RecordText): Fitted {
  const text = write(batch, record);
  return { record, text, bytes: Buffer.byteLength(text) };
}
