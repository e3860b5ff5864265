import { createHash } from 'node:crypto';
import { invalidValue, missing, SqsError } from './sqs-error.ts';

export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  /** Base64. */
  readonly BinaryValue?: string;
}

/** What a sender hands over, checked. */
export interface MessageContent {
  readonly body: string;
  readonly attributes: Readonly<Record<string, MessageAttribute>>;
  /** Attributes that the service keeps: `MessageGroupId`, `AWSTraceHeader`. */
  readonly system: Readonly<Record<string, string>>;
}

/** Source: AWS, SQS quotas, "Message size", attributes included. */
export const MESSAGE_BYTES_MAX = 1024 * 1024;
/** Source: AWS, SQS quotas, "Message attributes". */
const ATTRIBUTES_MAX = 10;
/** Everything but what a message may hold. Source: AWS, SendMessage: #x9, #xA, #xD, #x20–#xD7FF, #xE000–#xFFFD, #x10000–#x10FFFF. */
const REFUSED = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/u;

/** Reads a message from the fields of SendMessage, or of one entry of a batch. @throws {SqsError} */
export function contentOf(input: Record<string, unknown>, bytesMax: number): MessageContent {
  const body = input.MessageBody;
  if (typeof body !== 'string') throw missing('MessageBody');
  if (body === '') throw invalidValue('', 'MessageBody', 'The message body must not be empty');
  if (REFUSED.test(body)) throw refusedCharacter('Invalid characters found in the message body');
  const attributes = (input.MessageAttributes ?? {}) as Record<string, MessageAttribute>;
  checkAttributes(attributes);
  const content = { body, attributes, system: systemOf(input) };
  if (bytesOf(content) > bytesMax) {
    throw new SqsError(
      'InvalidParameterValue',
      `One or more parameters are invalid. Reason: Message must be shorter than ${bytesMax} bytes.`,
    );
  }
  return content;
}

/** Size that counts against the quotas: body, and name, type and value of each attribute. */
export function bytesOf({ body, attributes }: Pick<MessageContent, 'body' | 'attributes'>): number {
  return Object.entries(attributes).reduce(
    (bytes, [name, { DataType, ...value }]) => bytes + Buffer.byteLength(name + DataType) + valueBytes(value).length,
    Buffer.byteLength(body),
  );
}

function systemOf(input: Record<string, unknown>): Record<string, string> {
  const system: Record<string, string> = {};
  const group = input.MessageGroupId;
  if (group !== undefined) {
    if (typeof group !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(group)) {
      throw invalidValue(
        group,
        'MessageGroupId',
        'It can only include alphanumeric and punctuation characters, 1 to 128 in length',
      );
    }
    system.MessageGroupId = group;
  }
  const trace = (input.MessageSystemAttributes as Record<string, MessageAttribute> | undefined)?.AWSTraceHeader
    ?.StringValue;
  if (trace !== undefined) system.AWSTraceHeader = trace;
  return system;
}

function checkAttributes(attributes: Record<string, MessageAttribute>): void {
  const names = Object.keys(attributes);
  if (names.length > ATTRIBUTES_MAX) {
    throw new SqsError(
      'InvalidParameterValue',
      `Number of message attributes [${names.length}] exceeds the allowed maximum [${ATTRIBUTES_MAX}].`,
    );
  }
  for (const [name, { DataType, StringValue, BinaryValue }] of Object.entries(attributes)) {
    if (!/^(?!AWS\.|Amazon\.|\.)[A-Za-z0-9_.-]{1,256}$/i.test(name)) {
      throw new SqsError('InvalidParameterValue', `The message attribute name '${name}' is invalid.`);
    }
    const type = /^(String|Number|Binary)(\..+)?$/.exec(DataType ?? '')?.[1];
    if (!type) throw new SqsError('InvalidParameterValue', `The type of message attribute '${name}' is invalid.`);
    const value = type === 'Binary' ? BinaryValue : StringValue;
    if (!value)
      throw new SqsError(
        'InvalidParameterValue',
        `The message attribute '${name}' must contain a non-empty value of type '${type}'.`,
      );
    if (type === 'Number' && (value.trim() === '' || Number.isNaN(Number(value)))) {
      throw new SqsError('InvalidParameterValue', `Can't cast the value of message attribute '${name}' to a number.`);
    }
    if (type !== 'Binary' && REFUSED.test(value))
      throw refusedCharacter(`Invalid characters found in message attribute '${name}'`);
  }
}

function refusedCharacter(message: string): SqsError {
  return new SqsError('InvalidMessageContents', message);
}

export function md5(text: string | Uint8Array): string {
  return createHash('md5').update(text).digest('hex');
}

/**
 * Digest of message attributes that SDKs may check, undefined when there are none. Sorted by name, each as
 *
 *   u32 length, name · u32 length, data type · u8 1 (text) or 2 (binary) · u32 length, value
 *
 * Source: AWS, "Calculating the MD5 message digest for message attributes".
 */
export function attributesMd5(attributes: MessageContent['attributes']): string | undefined {
  const names = Object.keys(attributes).sort();
  if (names.length === 0) return undefined;
  const parts = names.flatMap((name) => {
    const { DataType, ...value } = attributes[name]!;
    const kind = Buffer.from([value.BinaryValue === undefined ? 1 : 2]);
    return [sized(Buffer.from(name)), sized(Buffer.from(DataType)), kind, sized(valueBytes(value))];
  });
  return md5(Buffer.concat(parts));
}

function valueBytes({ StringValue, BinaryValue }: Omit<MessageAttribute, 'DataType'>): Buffer {
  return BinaryValue === undefined ? Buffer.from(StringValue ?? '') : Buffer.from(BinaryValue, 'base64');
}

function sized(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
