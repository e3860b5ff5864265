import { createHash, createHmac } from 'node:crypto';
import type { GroupId } from '../domain/group.ts';
import { decodeBase64 } from './base64.ts';

/*
 * Standard Webhooks, version 1. Source: standardwebhooks.com, "Specification".
 *
 *   webhook-id         names the message: the same body, the same id
 *   webhook-timestamp  seconds since the epoch
 *   webhook-signature  "v1," + base64 of HMAC-SHA256(secret, id "." timestamp "." body); one per secret, a space between
 *
 * A secret is written "whsec_" + base64 of 24 to 64 bytes.
 */
const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

/** Bytes of a secret that the backbone makes. */
export const SECRET_BYTES = 32;

/** @param bytes random, `SECRET_BYTES` of them */
export function secretText(bytes: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(bytes).toString('base64');
}

/** Whether a text is a secret as it is written. */
export function isSecret(text: string): boolean {
  const bytes = decodeBase64(SECRET.exec(text)?.[1] ?? '');
  return bytes !== undefined && bytes.length >= SECRET_BYTES_MIN && bytes.length <= SECRET_BYTES_MAX;
}

/** Of a message to one group: a receiver that has seen it can drop a repetition. */
export function webhookId(group: GroupId, body: string): string {
  return `msg_${createHash('sha256').update(`${group.id}.`).update(body).digest('hex').slice(0, 32)}`;
}

/**
 * The three headers of a signed message.
 * @param secrets as they are written, the newest first: while one is replaced, both sign
 * @param now epoch ms
 */
export function webhookHeaders(id: string, body: string, secrets: readonly string[], now: number) {
  const timestamp = Math.floor(now / 1_000);
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
