import type { DeliveryBatch, DeliveryRecord } from '../../shared/domain/delivery.ts';

export interface DeliveryFields extends Partial<Omit<DeliveryRecord, 'key' | 'value' | 'headers'>> {
  readonly key?: string | Uint8Array | null;
  readonly value?: string | Uint8Array | null;
  readonly headers?: readonly (readonly [string, string | Uint8Array | null])[];
}

/** Records of `orders-3`, from offset 41 on unless they say another. */
export function deliveryBatch(records: readonly DeliveryFields[], rest: Partial<DeliveryBatch> = {}): DeliveryBatch {
  return {
    group: { name: 'billing', id: '01J00000000000000000000000' },
    topic: 'orders',
    topicId: '01JZZZZZZZZZZZZZZZZZZZZZZZ',
    partition: 3,
    epoch: 7,
    retentionMs: 604_800_000,
    records: records.map((fields, i) => ({
      offset: 41 + i,
      timestamp: 1_767_225_600_012,
      ...fields,
      key: bytesOf(fields.key ?? null),
      value: bytesOf(fields.value ?? null),
      headers: (fields.headers ?? []).map(([name, value]) => ({ name, value: bytesOf(value) })),
    })),
    ...rest,
  };
}

export function soon(ms = 10_000): number {
  return Date.now() + ms;
}

function bytesOf(part: string | Uint8Array | null): Uint8Array | null {
  return typeof part === 'string' ? Buffer.from(part) : part;
}
