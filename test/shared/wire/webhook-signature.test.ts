import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import {
  isSecret,
  SECRET_BYTES,
  secretText,
  webhookHeaders,
  webhookId,
} from '../../../shared/wire/webhook-signature.ts';

const BODY = '[{"id":"orders-3:41","data":"é"}]';
const [OLD, NEW, OTHER] = [1, 2, 3].map(() => secretText(randomBytes(SECRET_BYTES))) as [string, string, string];

describe('a signed body', () => {
  it('is what the Standard Webhooks library verifies, and only as it was sent', () => {
    const headers = webhookHeaders('msg_1', BODY, [NEW], Date.now());
    expect(new Webhook(NEW).verify(BODY, headers)).toEqual(JSON.parse(BODY));
    expect(() => new Webhook(NEW).verify(`${BODY} `, headers)).toThrow(/signature/);
    expect(() => new Webhook(NEW).verify(BODY, { ...headers, 'webhook-id': 'msg_2' })).toThrow(/signature/);
    expect(() => new Webhook(OTHER).verify(BODY, headers)).toThrow(/signature/);
  });

  it('is verified by either secret while one is replaced', () => {
    const headers = webhookHeaders('msg_1', BODY, [NEW, OLD], Date.now());
    for (const secret of [NEW, OLD]) expect(() => new Webhook(secret).verify(BODY, headers)).not.toThrow();
    expect(() => new Webhook(OTHER).verify(BODY, headers)).toThrow(/signature/);
  });

  it('is too old after a while', () => {
    const headers = webhookHeaders('msg_1', BODY, [NEW], Date.now() - 10 * 60_000);
    expect(() => new Webhook(NEW).verify(BODY, headers)).toThrow(/old/);
  });

  it('has the same id as long as it is the same, for one group', () => {
    const group = { name: 'g', id: 'A' };
    expect(webhookId(group, BODY)).toBe(webhookId(group, BODY));
    expect(webhookId(group, BODY)).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(webhookId(group, `${BODY} `)).not.toBe(webhookId(group, BODY));
    expect(webhookId({ name: 'g', id: 'B' }, BODY)).not.toBe(webhookId(group, BODY));
  });
});

describe('a secret', () => {
  it.each([OLD, secretText(randomBytes(24)), secretText(randomBytes(64))])('%s is one', (text) => {
    expect(isSecret(text)).toBe(true);
  });

  it.each([
    ...['', 'whsec_', OLD.slice('whsec_'.length), 'whsec_short', `${OLD}=`, OLD.replace('whsec_', 'WHSEC_')],
    ...[secretText(randomBytes(23)), secretText(randomBytes(65))],
  ])('%s is none', (text) => {
    expect(isSecret(text)).toBe(false);
  });
});
