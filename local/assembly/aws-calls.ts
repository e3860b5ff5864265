import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { EmbeddedAws } from '../aws/embedded-aws.ts';
import { amzDate } from '../aws/signature-age.ts';

/** A service refused a call. */
export class ServiceRefusal extends Error {
  constructor(
    /** `AccessDeniedException` */
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = code;
  }
}

/**
 * Calls an operation such as `AmazonSQS.ReceiveMessage` in somebody's name, as Lambda does for a function.
 * @throws {ServiceRefusal}
 */
export type CallAs = (accessKeyId: string, operation: string, body: object, signal?: AbortSignal) => Promise<Answer>;

/** An answer, as far as its caller knows what is in it. */
export type Answer = Readonly<Record<string, unknown>>;

/** @param now epoch ms by the services' clock */
export function callsBy(aws: EmbeddedAws, now: () => number): CallAs {
  const { requestHandler } = aws.clientConfig();
  return async (accessKeyId, operation, body, abortSignal) => {
    const headers = {
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/-/-/-/aws4_request`,
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-date': amzDate(now()),
      'x-amz-target': operation,
    };
    const request = { method: 'POST', path: '/', headers, body: JSON.stringify(body) };
    const { response } = await requestHandler.handle(request, { ...(abortSignal && { abortSignal }) });
    const answer = JSON.parse(await text(Readable.from(response.body))) as Answer;
    if (response.statusCode === 200) return answer;
    throw new ServiceRefusal(String(answer.__type).split('#').at(-1)!, String(answer.message ?? ''));
  };
}
