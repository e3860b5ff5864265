import { STATUS_CODES } from 'node:http';
import {
  type Delivered,
  type DeliveryBatch,
  deliveryError,
  type LinkPayload,
  printable,
  type ReadAnswer,
  type RecordText,
  type Target,
  type Verdict,
} from '../domain/delivery.ts';
import { TARGET_ANSWER_BYTES_MAX, TARGET_CALL_BYTES_MAX } from '../domain/limits.ts';
import { retryAfterMs } from '../domain/retry-after.ts';
import { TargetNotAllowed } from '../domain/target-errors.ts';
import { parseTargetUrl, type TargetUrl, type UrlRules } from '../domain/target-url.ts';
import { fitOneCall } from './fitting.ts';
import { CallFailed, type HttpAnswer, post } from './http-call.ts';
import { pinnedLookup, type Resolve, resolveBySystem } from './resolve.ts';

export interface HttpTargetOptions {
  readonly url: string;
  readonly rules: UrlRules;
  readonly contentType: string;
  readonly record: RecordText;
  /** The whole body. @param records each by `record` */
  readonly body: (records: readonly string[]) => string;
  /** Headers that say who sends the body. @param now epoch ms */
  readonly sign: (batch: DeliveryBatch, body: string, now: number) => Readonly<Record<string, string>>;
  readonly readAnswer: ReadAnswer;
  readonly link?: LinkPayload;
  /** How names are resolved; absent: as the system does. */
  readonly resolve?: Resolve;
}

/** What the body begins and ends with. */
const BRACKETS_BYTES = 2;
const DONE: Verdict = { kind: 'done' };

/** An endpoint that takes signed batches by POST. It is taken to be hostile. */
export class HttpTarget implements Target {
  readonly #options: HttpTargetOptions;

  constructor(options: HttpTargetOptions) {
    this.#options = options;
  }

  async send(batch: DeliveryBatch, deadline: number): Promise<Delivered> {
    const { record, body, link } = this.#options;
    const call = await fitOneCall(batch, TARGET_CALL_BYTES_MAX - BRACKETS_BYTES, {
      text: record,
      ...(link && { link }),
    });
    if (call.texts.length === 0) return { kind: 'too_large', at: call.next! };
    const delivered = await this.#post(call.batch, body(call.texts), deadline);
    return delivered.kind === 'done' && call.next !== undefined ? { kind: 'part', next: call.next } : delivered;
  }

  async #post(batch: DeliveryBatch, body: string, deadline: number): Promise<Delivered> {
    const { url, rules, contentType, sign, resolve = resolveBySystem } = this.#options;
    let target: TargetUrl;
    try {
      target = parseTargetUrl(url, rules);
      const answer = await post({
        url: target.url,
        headers: { 'content-type': contentType, 'user-agent': 'vertebra', ...sign(batch, body, Date.now()) },
        body: Buffer.from(body),
        lookup: pinnedLookup(target, resolve),
        deadline,
      });
      return this.#judge(answer, batch);
    } catch (error) {
      return unanswered(error);
    }
  }

  #judge(answer: HttpAnswer, batch: DeliveryBatch): Delivered {
    const { status, headers } = answer;
    if (status >= 200 && status < 300) return this.#read(answer, batch);
    const excerpt = encodingOf(answer) === undefined ? printable(answer.body.toString()) : '';
    const error = deliveryError(
      `Http${status}`,
      [STATUS_CODES[status] ?? 'no known status', excerpt].filter((part) => part !== '').join(': '),
    );
    if (status === 410) return { kind: 'gone', error };
    if (status !== 429 && status !== 503) return { kind: 'failed', error };
    const pauseMs = retryAfterMs(headers['retry-after'], Date.now());
    return { kind: 'away', ...(pauseMs !== undefined && { retryAfterMs: pauseMs }), error };
  }

  /** What was accepted is done, unless the answer may name failures that cannot be read. */
  #read(answer: HttpAnswer, batch: DeliveryBatch): Verdict {
    const { body, cut, headers } = answer;
    const encoding = encodingOf(answer);
    if (cut) return invalid(`it is longer than ${TARGET_ANSWER_BYTES_MAX} bytes, or broke off`);
    if (body.length === 0) return DONE;
    if (encoding !== undefined) return invalid(`its content-encoding is ${encoding}, which was not asked for`);
    const text = body.toString();
    try {
      return this.#options.readAnswer(JSON.parse(text), batch);
    } catch {
      const meantAsJson = /json/i.test(headers['content-type'] ?? '') || /^\s*\{/.test(text);
      return meantAsJson ? invalid('it is no JSON') : DONE;
    }
  }
}

function encodingOf({ headers }: HttpAnswer): string | undefined {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  return encoding === '' || encoding === 'identity' ? undefined : encoding;
}

function invalid(why: string): Verdict {
  return { kind: 'failed', error: deliveryError('InvalidAnswer', `the answer cannot be read: ${why}`) };
}

/** @throws what no target can have caused */
function unanswered(error: unknown): Delivered {
  if (error instanceof TargetNotAllowed) return { kind: 'cannot', error: deliveryError(error.name, error.message) };
  if (!(error instanceof CallFailed)) throw error;
  if (error.cause instanceof TargetNotAllowed) return unanswered(error.cause);
  const { code = '' } = error.cause as NodeJS.ErrnoException;
  const message = error.message.includes(code) ? error.message : `${error.message} ${code}`;
  const told = deliveryError(error.sent ? 'NoAnswer' : 'NoConnection', message);
  return { kind: error.sent ? 'failed' : 'away', error: told };
}
