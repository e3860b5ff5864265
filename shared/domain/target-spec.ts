import { OLD_SECRET_LIFE_MS } from './limits.ts';

/** What a subscription's records are pushed to, as it is stored. */
export type TargetSpec =
  | { readonly lambda: { readonly functionArn: string } }
  | { readonly http: HttpSpec }
  | { readonly sqs: { readonly queueUrl: string } }
  | { readonly eventBridge: { readonly eventBusName: string } };

export interface HttpSpec {
  readonly url: string;
  /** As Standard Webhooks writes it. */
  readonly secret: string;
  /** The one before the last rotation, and epoch ms up to which it signs as well. */
  readonly previous?: { readonly secret: string; readonly until: number };
}

/** The secrets that sign now, the newest first. @param now epoch ms */
export function secretsAt({ secret, previous }: HttpSpec, now: number): readonly string[] {
  return previous !== undefined && now < previous.until ? [secret, previous.secret] : [secret];
}

/** With a new secret, beside which the one of today stays valid for a while. @param now epoch ms */
export function withSecret(spec: HttpSpec, secret: string, now: number): HttpSpec {
  return { ...spec, secret, previous: { secret: spec.secret, until: now + OLD_SECRET_LIFE_MS } };
}
