import { createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidRequest } from '../domain/errors.ts';
import type { PreparedSlot, PreparedSlots } from '../domain/prepared.ts';
import type { Reserved } from '../domain/slot.ts';

/*
 * What a prepared append is settled with: base64url of a JSON text, ".", base64url of its HMAC-SHA256.
 *
 *   [topic name, topic id, retentionMs, [[partition, id, last, reserved, [reserved, …]], …]]
 *   reserved: [count, time, expiresAt, settleMs]; those just before it in the list, newest first
 *
 * It is signed, because whoever settles a slot ends the append that it was reserved for, and tells readers what is before it.
 */

type Numbers = readonly [count: number, time: number, expiresAt: number, settleMs: number];
type Slot = readonly [partition: number, id: string, last: number, own: Numbers, previous: readonly Numbers[]];
type Content = readonly [name: string, id: string, retentionMs: number, slots: readonly Slot[]];

/** @param secret the backbone's own */
export function toSettleToken({ topic, slots }: PreparedSlots, secret: Uint8Array): string {
  const content: Content = [topic.name, topic.id, topic.retentionMs, slots.map(toSlot)];
  const text = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${text}.${signatureOf(text, secret).toString('base64url')}`;
}

/**
 * @param topic the name of the topic in which they are to be settled
 * @throws {InvalidRequest} when the backbone did not give this token for this topic
 */
export function parseSettleToken(token: string, topic: string, secret: Uint8Array): PreparedSlots {
  const [text = '', signature = ''] = token.split('.');
  const sent = Buffer.from(signature, 'base64url');
  const own = signatureOf(text, secret);
  const isOwn = sent.length === own.length && timingSafeEqual(sent, own);
  if (!isOwn || token !== `${text}.${sent.toString('base64url')}`) throw refusal();
  const [name, id, retentionMs, slots]: Content = JSON.parse(Buffer.from(text, 'base64url').toString());
  if (name !== topic) throw refusal();
  return { topic: { name, id, retentionMs }, slots: slots.map(fromSlot) };
}

function refusal(): InvalidRequest {
  return new InvalidRequest("'token' must be the one that came with what was prepared for this topic", {
    field: 'token',
  });
}

function signatureOf(text: string, secret: Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`settle.${text}`).digest();
}

function toSlot({ partition, reservation }: PreparedSlot): Slot {
  const { id, last, previous } = reservation;
  return [partition, id, last, toNumbers(reservation), previous.map(toNumbers)];
}

function fromSlot([partition, id, last, own, previous]: Slot): PreparedSlot {
  const reserved = fromNumbers(own);
  const base = last - reserved.count + 1;
  return { partition, reservation: { id, ...reserved, base, last, previous: previous.map(fromNumbers) } };
}

function toNumbers({ count, time, expiresAt, settleMs }: Reserved): Numbers {
  return [count, time, expiresAt, settleMs];
}

function fromNumbers([count, time, expiresAt, settleMs]: Numbers): Reserved {
  return { count, time, expiresAt, settleMs };
}
