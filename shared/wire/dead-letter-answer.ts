import { type DeadLetter, deadLetterIdText, stateOf } from '../domain/dead-letter.ts';
import { decodeKeptRecord, type KeptRecord, keyOf } from './dead-letter-record.ts';
import { ANSWER_BODY_BYTES_MAX, type ApiAnswer, ESCAPED_BODY_BYTES_MAX } from './http-answer.ts';
import { JsonWriter } from './json-writer.ts';
import { toNextToken } from './next-token.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { RecordJson } from './record-json.ts';
import type { RecordSpans } from './record-spans.ts';
import { uploadLink } from './upload-value.ts';
import { textOf } from './utf8.ts';

/** What stands around the letters: a token has less than 200 characters. */
const ENVELOPE_BYTES = 512;
const COMMA = 0x2c;
const NOTHING = new Uint8Array();
const BEFORE = Buffer.from('{"deadLetters":[');

/** A page of dead letters, as JSON: it takes them one by one, as many as one answer carries. */
export class DeadLetterAnswer {
  /** The record's key that is wanted, as text; absent: any. */
  readonly #key: Buffer | undefined;
  readonly #writer = new JsonWriter(BEFORE.length);
  readonly #json = new RecordJson(this.#writer, 'json');
  #count = 0;

  constructor({ key }: { readonly key?: string }) {
    this.#key = key === undefined ? undefined : Buffer.from(key);
  }

  /**
   * @param payload as `encodeKeptRecord` made it; undefined: it is gone
   * @param corrected likewise: what it was corrected to; null: it was not
   * @param link makes the URL of an uploaded value
   */
  async take(
    letter: DeadLetter,
    payload: Uint8Array | undefined,
    corrected: Uint8Array | null,
    link: (uploadId: string) => Promise<string>,
  ): Promise<'taken' | 'passed' | 'full'> {
    const kept: KeptRecord = payload === undefined ? { form: 'payload_missing' } : decodeKeptRecord(payload);
    if (!this.#isWanted(kept)) return 'passed';
    const start = this.#writer.length;
    const changed = corrected === null ? undefined : decodeKeptRecord(corrected);
    await this.#write(letter, kept, link, { ...(changed && { changed }) });
    if (this.#writer.length + ENVELOPE_BYTES > ANSWER_BODY_BYTES_MAX) {
      if (start > 0) {
        this.#writer.length = start;
        return 'full';
      }
      await this.#makeFit(letter, kept, link);
    }
    this.#count++;
    return 'taken';
  }

  /** @param next where the next page goes on; undefined: this is the last */
  finish(next: string | undefined): ApiAnswer {
    const after = next === undefined ? ']}' : `],"nextToken":${JSON.stringify(toNextToken('deadLetters', next))}}`;
    return { status: 200, body: this.#writer.finish(BEFORE, Buffer.from(after)) };
  }

  /** The one that was taken, by itself. */
  finishOne(): ApiAnswer {
    return { status: 200, body: this.#writer.finish(NOTHING, NOTHING) };
  }

  #isWanted(kept: KeptRecord): boolean {
    if (this.#key === undefined) return true;
    return 'batch' in kept && keyOf(kept.batch)?.equals(this.#key) === true;
  }

  /**
   * The only one of its page, and too large for it: as text it may fit, else in base64, without what it was corrected to;
   * else without its record.
   */
  async #makeFit(letter: DeadLetter, kept: KeptRecord, link: (uploadId: string) => Promise<string>): Promise<void> {
    if (this.#fitsAsText()) return;
    this.#writer.length = 0;
    await this.#write(letter, kept, link, { force: 'base64' });
    if (this.#writer.length + ENVELOPE_BYTES <= ANSWER_BODY_BYTES_MAX || this.#fitsAsText()) return;
    this.#writer.length = 0;
    await this.#write(letter, { form: 'record_too_large' }, link);
  }

  #fitsAsText(): boolean {
    if (this.#writer.length > ESCAPED_BODY_BYTES_MAX) return false;
    const escaped = Buffer.byteLength(JSON.stringify(textOf(this.#writer.written())));
    return escaped + 2 * ENVELOPE_BYTES <= ESCAPED_BODY_BYTES_MAX;
  }

  async #write(
    letter: DeadLetter,
    kept: KeptRecord | { readonly form: 'record_too_large' },
    link: (uploadId: string) => Promise<string>,
    { changed, force }: { readonly changed?: KeptRecord; readonly force?: 'base64' } = {},
  ): Promise<void> {
    const { topic, partition, offset, error, attempts, redrives, firstFailedAt, deadLetteredAt, history } = letter;
    const origin = { id: deadLetterIdText(letter), topic, partition };
    const rest = { error, attempts, redrives, firstFailedAt, deadLetteredAt, state: stateOf(letter), history };
    if (this.#count > 0) this.#writer.piece(Buffer.from(','));
    if (!('batch' in kept)) {
      this.#piece({ ...origin, offset, recordError: { code: kept.form }, ...rest });
      return;
    }
    const value = kept.form === 'upload' ? await linkOf(kept.batch, link) : kept.form === 'json';
    if (value === undefined) return this.#write(letter, { form: 'payload_corrupt' }, link);
    // The record's own text is an object: it goes on where the origin's ends, and what follows goes on where it ends.
    this.#piece(origin);
    this.#writer.length -= 1;
    const brace = this.#writer.length;
    this.#json.record(kept.batch, 0, offset, value, force);
    this.#writer.written()[brace] = COMMA;
    this.#writer.length -= 1;
    const end = this.#writer.length;
    this.#piece(rest);
    this.#writer.written()[end] = COMMA;
    if (changed !== undefined && 'batch' in changed) await this.#append('corrected', changed, offset, link);
  }

  /** A record as one more field of the object that was written last. */
  async #append(
    name: string,
    kept: KeptRecord & { readonly batch: RecordSpans },
    offset: number,
    link: (uploadId: string) => Promise<string>,
  ): Promise<void> {
    const value = kept.form === 'upload' ? await linkOf(kept.batch, link) : kept.form === 'json';
    if (value === undefined) return;
    this.#writer.length -= 1;
    this.#writer.piece(Buffer.from(`,"${name}":`));
    this.#json.record(kept.batch, 0, offset, value);
    this.#writer.piece(Buffer.from('}'));
  }

  #piece(value: object): void {
    this.#writer.piece(Buffer.from(JSON.stringify(value)));
  }
}

/** @returns undefined when the record's value is no upload, though it was kept as one */
async function linkOf(
  batch: RecordSpans,
  link: (uploadId: string) => Promise<string>,
): Promise<Uint8Array | undefined> {
  const stored = batch.data.subarray(batch.valueStart(0), batch.valueEnd(0));
  try {
    const { uploadId } = JSON.parse(textOf(stored)) as { uploadId: string };
    return uploadLink(stored, await link(uploadId));
  } catch (error) {
    if (error instanceof PayloadCorrupt || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
