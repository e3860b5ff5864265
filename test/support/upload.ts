import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { Reply } from './gateway-call.ts';

export interface Announced {
  readonly uploadId: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly expiresAt: number;
  readonly urlExpiresAt: number;
}

export const sha256Of = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Announces a payload for a topic. @param topic its path */
export async function announce(
  api: { post(target: string, body: object): Promise<Reply> },
  topic: string,
  payload: Uint8Array,
): Promise<Announced> {
  const reply = await api.post(`${topic}/uploads`, { size: payload.length, sha256: sha256Of(payload) });
  expect([reply.status, reply.status === 201 ? '' : reply.text]).toEqual([201, '']);
  return reply.json<Announced>();
}

/** Sends a payload as it was announced, over the network. The length is told by the body itself. */
export async function sendPayload({ url, headers }: Announced, payload: Uint8Array): Promise<Response> {
  const { 'content-length': length, ...others } = headers;
  expect(length).toBe(String(payload.length));
  return fetch(url, { method: 'PUT', body: payload, headers: others });
}

/** Announces and sends a payload. @returns the id of the upload */
export async function upload(
  api: { post(target: string, body: object): Promise<Reply> },
  topic: string,
  payload: Uint8Array,
): Promise<string> {
  const announced = await announce(api, topic, payload);
  expect((await sendPayload(announced, payload)).status).toBe(200);
  return announced.uploadId;
}
