import {
  GetBucketLifecycleConfigurationCommand,
  GetPublicAccessBlockCommand,
  HeadBucketCommand,
} from '@aws-sdk/client-s3';
import type { BucketFacts } from '../domain/deployed-facts.ts';
import { look, lookFor } from './looks.ts';
import type { S3 } from './payload-object.ts';

/** How buckets are set up. */
export class BucketSettings {
  readonly #s3: S3;

  constructor(s3: S3) {
    this.#s3 = s3;
  }

  /** @returns undefined when there is none of this name @throws {CannotLook} */
  async read(Bucket: string): Promise<BucketFacts | undefined> {
    if ((await lookFor(this.#s3.send(new HeadBucketCommand({ Bucket })))) === undefined) return undefined;
    const access = await settingOf(this.#s3.send(new GetPublicAccessBlockCommand({ Bucket })));
    const block = access?.PublicAccessBlockConfiguration;
    const isPrivate =
      block?.BlockPublicAcls && block.IgnorePublicAcls && block.BlockPublicPolicy && block.RestrictPublicBuckets;
    const lifecycle = await settingOf(this.#s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket })));
    const rules = lifecycle?.Rules ?? [];
    const expiring = rules.filter(({ Status, Expiration }) => Status === 'Enabled' && Expiration !== undefined);
    return {
      ...(access !== undefined && { isPrivate: isPrivate === true }),
      ...(lifecycle !== undefined && { expiringRules: expiring.map(({ ID }) => ID ?? '') }),
    };
  }
}

/** S3 says "not found" for a setting that nobody has made: it is empty. @returns undefined when the engine does not tell */
async function settingOf<T extends object>(sent: Promise<T>): Promise<T | undefined> {
  const nothing = {} as T;
  const found = await look(
    sent.catch((error: unknown) => {
      if (error instanceof Error && /^NoSuch\w+Configuration$/.test(error.name)) return nothing;
      throw error;
    }),
  );
  return found === 'not told' ? undefined : found;
}
