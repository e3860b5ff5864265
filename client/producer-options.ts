import { RECORDS_PER_REQUEST_MAX } from '../shared/domain/limits.ts';
import { type Encoder, json } from './codec.ts';
import { InvalidOptions } from './errors.ts';
import {
  BATCH_BYTES_DEFAULT,
  BATCH_BYTES_MAX,
  BUFFER_BYTES_DEFAULT,
  DELIVERY_TIMEOUT_MS_DEFAULT,
  DELIVERY_TIMEOUT_MS_MAX,
  LINGER_MS_DEFAULT,
  LINGER_MS_MAX,
  REQUESTS_IN_FLIGHT_DEFAULT,
  REQUESTS_IN_FLIGHT_MAX,
} from './limits.ts';
import { integer, known } from './option-checks.ts';
import type { Partitioner } from './partitioner.ts';
import type { ProducerOptions } from './producer-words.ts';

/** Every option with its value. */
export interface ProducerSettings<T> {
  readonly codec: Encoder<T>;
  readonly lingerMs: number;
  readonly batchBytes: number;
  readonly batchRecords: number;
  readonly maxBufferBytes: number;
  readonly deliveryTimeoutMs: number;
  readonly maxInFlightRequests: number;
  readonly partitioner: Partitioner | undefined;
  readonly traceContext: ProducerOptions['traceContext'];
}

/** @throws {InvalidOptions} naming the option that is unknown or out of its range */
export function settingsOf<T>(options: ProducerOptions<T>): ProducerSettings<T> {
  const { codec = json() as Encoder<T>, partitioner, traceContext, ...numbers } = options;
  if (typeof codec?.encode !== 'function')
    throw new InvalidOptions("'codec' must be a codec, such as json() or bytes()");
  if (partitioner !== undefined && typeof partitioner !== 'function') {
    throw new InvalidOptions("'partitioner' must be a function");
  }
  if (traceContext !== undefined && typeof traceContext !== 'function') {
    throw new InvalidOptions("'traceContext' must be a function");
  }
  known('A producer', numbers, Object.keys(RANGES));
  const number = (name: keyof typeof RANGES): number => {
    const [min, byDefault, max] = RANGES[name];
    const value = numbers[name] ?? byDefault;
    integer(name, value, min, max);
    return value;
  };
  if (number('lingerMs') >= number('deliveryTimeoutMs')) {
    throw new InvalidOptions("'lingerMs' must be below 'deliveryTimeoutMs'");
  }
  return {
    ...{ codec, partitioner, traceContext },
    lingerMs: number('lingerMs'),
    batchBytes: number('batchBytes'),
    batchRecords: number('batchRecords'),
    maxBufferBytes: number('maxBufferBytes'),
    deliveryTimeoutMs: number('deliveryTimeoutMs'),
    maxInFlightRequests: number('maxInFlightRequests'),
  };
}

/** Least, default, most. */
const RANGES = {
  lingerMs: [0, LINGER_MS_DEFAULT, LINGER_MS_MAX],
  batchBytes: [1, BATCH_BYTES_DEFAULT, BATCH_BYTES_MAX],
  batchRecords: [1, RECORDS_PER_REQUEST_MAX, RECORDS_PER_REQUEST_MAX],
  maxBufferBytes: [1, BUFFER_BYTES_DEFAULT, Number.MAX_SAFE_INTEGER],
  deliveryTimeoutMs: [1, DELIVERY_TIMEOUT_MS_DEFAULT, DELIVERY_TIMEOUT_MS_MAX],
  maxInFlightRequests: [1, REQUESTS_IN_FLIGHT_DEFAULT, REQUESTS_IN_FLIGHT_MAX],
} as const satisfies Record<string, readonly [number, number, number]>;
