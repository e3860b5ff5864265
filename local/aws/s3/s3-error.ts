import { element } from './xml.ts';

/** An error as S3 answers it. */
export class S3Error extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = code;
  }

  toXml(requestId: string): string {
    const { code: Code, message: Message, details } = this;
    return element('Error', { Code, Message, ...details, RequestId: requestId });
  }
}

export const noSuchBucket = (bucket: string) =>
  new S3Error(404, 'NoSuchBucket', 'The specified bucket does not exist', { BucketName: bucket });
export const noSuchKey = (key: string) =>
  new S3Error(404, 'NoSuchKey', 'The specified key does not exist.', { Key: key });
export const preconditionFailed = (condition: string) =>
  new S3Error(412, 'PreconditionFailed', 'At least one of the pre-conditions you specified did not hold', {
    Condition: condition,
  });
export const invalidArgument = (message: string) => new S3Error(400, 'InvalidArgument', message);
export const badDigest = (what: string) =>
  new S3Error(400, 'BadDigest', `The ${what} you specified did not match the calculated checksum.`);
export const notImplemented = (what: string) =>
  new S3Error(501, 'NotImplemented', `The embedded object store does not do this: ${what}`);
