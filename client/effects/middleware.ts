import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { Delivered } from './delivery.ts';
import { type EffectOptions, effectOnce } from './effect-once.ts';
import { type DeliveredRecord, deliveriesOf, type LambdaEvent, type LambdaRecord } from './lambda.ts';
import { type OnceOptions, processOnce } from './process-once.ts';

/** What the middleware puts into the context of a call, as `vertebra`. */
export interface OnceTools<R extends LambdaRecord = LambdaRecord> {
  /** The event's records, in their order. */
  readonly deliveries: readonly DeliveredRecord<R>[];
  processOnce(delivered: Delivered, writes: readonly TransactWriteItem[]): Promise<{ readonly done: boolean }>;
  effectOnce<T>(
    delivered: Delivered,
    effect: (idempotencyKey: string) => Promise<T>,
    more: Omit<EffectOptions, keyof OnceOptions>,
  ): Promise<{ readonly result: T; readonly repeated: boolean }>;
}

/** The part of middy's request that is used. */
interface Request {
  readonly event: unknown;
  readonly context: object;
}

/**
 * For middy: the records of a subscription's event, and `processOnce` and `effectOnce` with their options, in the context:
 * `middy(handler).use(onceMiddleware({ dynamodb }))`, and in the handler `context.vertebra.deliveries`.
 */
export function onceMiddleware(options: OnceOptions): { before(request: Request): void } {
  return {
    before({ event, context }) {
      const tools: OnceTools = {
        deliveries: deliveriesOf(event as LambdaEvent),
        processOnce: (delivered, writes) => processOnce(delivered, writes, options),
        effectOnce: (delivered, effect, more) => effectOnce(delivered, effect, { ...options, ...more }),
      };
      Object.assign(context, { vertebra: tools });
    },
  };
}
