/** The TypeScript SDK of Vertebra: everything that is public. */

export type { MaxLag, Quota, Rates } from '../shared/domain/quota.ts';
export { Admin } from './admin.ts';
export type {
  AccessRights,
  AdminOptions,
  ApiKeyDescription,
  CommittedOffsets,
  DeadLetter,
  DeadLetterQuery,
  GroupDescription,
  GroupMember,
  GroupOffset,
  GroupSummary,
  NewApiKey,
  NewTopic,
  OffsetTarget,
  OffsetTime,
  PartitionOffsets,
  Redrive,
  RedriveCorrection,
  TopicChange,
  TopicDescription,
  TopicSettings,
} from './admin-words.ts';
export { ApiError } from './api-error.ts';
export type { Auth, AwsCredentials, IamAuth } from './auth.ts';
export { bytes, type Codec, type Decoder, type Encoder, json, type StandardSchema, utf8, withSchema } from './codec.ts';
export type { Logger } from './connection.ts';
export { Consumer } from './consumer.ts';
export {
  HandlerFailed,
  PartitionLost,
  PartitionNotHeld,
  PayloadInvalid,
  ProcessingTimeout,
  RecordUnreadable,
  type TopicPartition,
  type TopicPartitionOffset,
  TopicReplaced,
} from './consumer-errors.ts';
export type { ConsumerEvent, ConsumerEvents, Listener } from './consumer-events.ts';
export type { Batch, EachBatchPayload, EachMessagePayload, HandlerTools, RunOptions } from './consumer-handlers.ts';
export type { CommitMode, ConsumerOptions, HandlerRetry } from './consumer-options.ts';
export type { TopicPartitions } from './consumer-pauses.ts';
export type { StopOptions } from './consumer-session.ts';
export type { Delivered, DeliveryIds, RecordDelivery } from './effects/delivery.ts';
export { type EffectOptions, effectOnce, resolveEffect } from './effects/effect-once.ts';
export { DeliveryFenced, EffectInProgress, EffectUnfinished } from './effects/errors.ts';
export { type DeliveredRecord, deliveriesOf, type LambdaEvent, type LambdaRecord } from './effects/lambda.ts';
export { type OnceTools, onceMiddleware } from './effects/middleware.ts';
export { type OnceOptions, processOnce } from './effects/process-once.ts';
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
  RecordTooLarge,
  RequestTimeout,
  ValidationError,
  VertebraError,
} from './errors.ts';
export { type FetchedRecord, type MessageHeader, ReceivedMessage } from './messages.ts';
export type { Partitioner, ToPlace } from './partitioner.ts';
export type { PayloadOptions, UploadLink } from './payload.ts';
export {
  type PreparedAppend,
  PreparedExpired,
  type PreparedItem,
  type PrepareOptions,
  type Settled,
} from './prepared-append.ts';
export { Producer } from './producer.ts';
export type {
  HeaderValue,
  Message,
  MessageHeaders,
  ProducerOptions,
  Sending,
  SendingBatch,
  Undelivered,
} from './producer-words.ts';
export { Reader, type ReaderOptions } from './reader.ts';
export type { RetryPolicy } from './retry.ts';
export type {
  ParkedKey,
  SubscriptionDescription,
  SubscriptionPartition,
  SubscriptionSettings,
  SubscriptionSummary,
  SubscriptionTarget,
} from './subscription-words.ts';
export type { Surroundings } from './surroundings.ts';
export { Upload, type UploadOptions } from './upload.ts';
export { Vertebra, type VertebraOptions } from './vertebra.ts';
