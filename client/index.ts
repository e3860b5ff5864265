/** The TypeScript SDK of Vertebra: everything that is public. */
export { Admin } from './admin.ts';
export type {
  DeadLetter,
  DeadLetterQuery,
  GroupDescription,
  GroupOffset,
  NewTopic,
  OffsetTarget,
  OffsetTime,
  PartitionOffsets,
  TopicChange,
  TopicDescription,
} from './admin-words.ts';
export { ApiError } from './api-error.ts';
export type { Auth, AwsCredentials, IamAuth } from './auth.ts';
export { bytes, type Codec, json, type SchemaCodec, type StandardSchema, utf8, withSchema } from './codec.ts';
export type { Logger } from './connection.ts';
export {
  Aborted,
  Closed,
  ConnectionError,
  type Delivery,
  type DeliveryResult,
  DeliveryTimeout,
  type Effect,
  InvalidOptions,
  type Issue,
  MalformedAnswer,
  NotDelivered,
  RequestTimeout,
  ValidationError,
  VertebraError,
} from './errors.ts';
export type { RetryPolicy } from './retry.ts';
export type { Surroundings } from './surroundings.ts';
export { Vertebra, type VertebraOptions } from './vertebra.ts';
