import { describe, expect, it } from 'vitest';
import type { AccessSettings, Identity, Need } from '../../../shared/domain/access.ts';
import { Forbidden, Unauthenticated } from '../../../shared/domain/access-errors.ts';
import { ACCESS_COPY_MS, ACCESS_REFUSAL_COPY_MS } from '../../../shared/domain/access-limits.ts';
import type { ApiKey } from '../../../shared/domain/api-key.ts';
import { Unavailable } from '../../../shared/domain/errors.ts';
import type { Rights } from '../../../shared/domain/rights.ts';
import { Access } from '../../../shared/operations/authorise.ts';

const IAM: AccessSettings = { auth: 'iam', storedGrants: true };
const KEYS: AccessSettings = { auth: 'apiKey', storedGrants: true };
const SHOP: Identity = { userArn: 'arn:aws:sts::111122223333:assumed-role/Shop/x' };
const KEY: Identity = { shown: { id: 'k', hasHash: (hash) => hash === 'right' } };
const PRODUCE: readonly Rights[] = [{ topics: 'orders', allow: ['produce'] }];

const need = (topic = 'orders', more: Partial<Need> = {}): Need => ({
  ...{ isOpen: false, isSigned: false },
  demands: () => [{ right: 'produce', used: { topic } }],
  ...more,
});

/** Stores whose weak reads show what was there when `settle` was last called. */
function open() {
  let now = 1_000_000;
  const stored = new Map<string, ApiKey | readonly Rights[]>();
  let settled = new Map(stored);
  const reads: ('weak' | 'strong')[] = [];
  let failing = false;
  const read = async (name: string, consistent: boolean) => {
    reads.push(consistent ? 'strong' : 'weak');
    await Promise.resolve();
    if (failing) throw new Unavailable('away');
    return (consistent ? stored : settled).get(name);
  };
  const access = new Access({
    clock: { now: () => now },
    apiKeys: { read: async (id, consistent) => (await read(id, consistent)) as ApiKey | undefined },
    grants: { of: async (name, consistent) => ((await read(name, consistent)) as Rights[] | undefined) ?? [] },
  });
  return {
    access,
    stored,
    reads,
    settle: () => {
      settled = new Map(stored);
    },
    pass: (ms: number) => {
      now += ms;
    },
    fail: () => {
      failing = true;
    },
    key: (rights = PRODUCE, more: Partial<ApiKey> = {}): ApiKey => ({
      ...{ id: 'k', name: 'n', hash: 'right', rights, createdAt: now, createdBy: 'x' },
      ...more,
    }),
  };
}
const ROLE = 'role:111122223333:Shop';

describe('what a caller costs', () => {
  it('is one weak read a minute, however many ask, at once or one after the other', async () => {
    const { access, stored, settle, reads, pass } = open();
    stored.set(ROLE, PRODUCE);
    settle();
    for (let second = 0; second < 60; second++) {
      await Promise.all([1, 2, 3].map(() => access.authorise(IAM, SHOP, need())));
      pass(1_000);
    }
    expect(reads).toEqual(['weak']);
    await access.authorise(IAM, SHOP, need());
    expect(reads).toEqual(['weak', 'weak']);
  });

  it('is nothing where nobody asks, at what is open, and where the gateway’s word is enough', async () => {
    const { access, reads } = open();
    const never = { demands: () => expect.fail('nobody asks') };
    await access.authorise({ auth: 'none', storedGrants: true }, {}, need('orders', never));
    await access.authorise(KEYS, {}, need('orders', { ...never, isOpen: true }));
    await access.authorise(KEYS, SHOP, need('orders', { ...never, isSigned: true }));
    await access.authorise({ auth: 'iam', storedGrants: false }, SHOP, need('orders', never));
    expect(reads).toEqual([]);
  });

  it('is one strong read a second at most when it is refused', async () => {
    const { access, reads, pass } = open();
    const refused = () => expect(access.authorise(IAM, SHOP, need())).rejects.toBeInstanceOf(Forbidden);
    for (let times = 0; times < 5; times++) await refused();
    expect(reads).toEqual(['weak', 'strong']);
    pass(ACCESS_REFUSAL_COPY_MS);
    await refused();
    expect(reads).toEqual(['weak', 'strong', 'strong']);
  });
});

describe('a right', () => {
  it('that was just given counts, though the copy does not know it', async () => {
    const { access, stored, pass } = open();
    await expect(access.authorise(IAM, SHOP, need())).rejects.toBeInstanceOf(Forbidden);
    stored.set(ROLE, PRODUCE);
    pass(ACCESS_REFUSAL_COPY_MS);
    expect(await access.authorise(IAM, SHOP, need())).toMatchObject({ principal: ROLE });
  });

  it('that was taken back is worth nothing a minute later', async () => {
    const { access, stored, settle, pass } = open();
    stored.set(ROLE, PRODUCE);
    settle();
    await access.authorise(IAM, SHOP, need());
    stored.set(ROLE, []);
    settle();
    pass(ACCESS_COPY_MS - 1);
    await access.authorise(IAM, SHOP, need());
    pass(1);
    await expect(access.authorise(IAM, SHOP, need())).rejects.toBeInstanceOf(Forbidden);
  });

  it('is not presumed while the store is away', async () => {
    const { access, stored, settle, pass, fail } = open();
    stored.set(ROLE, PRODUCE);
    settle();
    await access.authorise(IAM, SHOP, need());
    fail();
    await access.authorise(IAM, SHOP, need());
    pass(ACCESS_COPY_MS);
    await expect(access.authorise(IAM, SHOP, need())).rejects.toBeInstanceOf(Unavailable);
  });
});

describe('a key', () => {
  it('that was just made counts, though a weak read does not find it', async () => {
    const { access, stored, key, reads } = open();
    stored.set('k', key());
    expect(await access.authorise(KEYS, KEY, need())).toEqual({ principal: 'key:k', rights: PRODUCE });
    expect(reads).toEqual(['weak', 'strong']);
  });

  it('that was revoked is worth nothing a minute later, and at once where it was revoked', async () => {
    const { access, stored, settle, key, pass } = open();
    const revoked = async () => {
      stored.set('k', key());
      settle();
      await access.authorise(KEYS, KEY, need());
      stored.delete('k');
      settle();
    };
    await revoked();
    await access.authorise(KEYS, KEY, need());
    pass(ACCESS_COPY_MS);
    await expect(access.authorise(KEYS, KEY, need())).rejects.toBeInstanceOf(Unauthenticated);
    await revoked();
    access.forget('k');
    await expect(access.authorise(KEYS, KEY, need())).rejects.toBeInstanceOf(Unauthenticated);
  });

  it('ends on time, also while there is a copy of it', async () => {
    const { access, stored, settle, key, pass } = open();
    stored.set('k', key(PRODUCE, { expiresAt: key().createdAt + 5_000 }));
    settle();
    pass(4_999);
    await access.authorise(KEYS, KEY, need());
    pass(1);
    await expect(access.authorise(KEYS, KEY, need())).rejects.toThrow('expired');
  });

  it('is nobody’s without its secret, and costs whoever guesses one read a minute', async () => {
    const { access, stored, settle, key, reads } = open();
    stored.set('k', key());
    settle();
    const guess = { shown: { id: 'k', hasHash: () => false } };
    for (let times = 0; times < 3; times++) {
      await expect(access.authorise(KEYS, guess, need())).rejects.toBeInstanceOf(Unauthenticated);
    }
    expect(reads).toEqual(['weak']);
  });

  it('gives no more by a signature elsewhere, nor does a signature where a key is asked for', async () => {
    const { access, stored, settle, key } = open();
    stored.set('k', key());
    settle();
    await expect(access.authorise(KEYS, { ...SHOP, ...KEY }, need('secret'))).rejects.toMatchObject({
      data: { principal: 'key:k', topic: 'secret' },
    });
    await expect(access.authorise(KEYS, SHOP, need())).rejects.toBeInstanceOf(Unauthenticated);
    await expect(access.authorise(IAM, KEY, need())).rejects.toBeInstanceOf(Unauthenticated);
    await expect(access.authorise({ auth: 'jwt', storedGrants: true }, KEY, need())).rejects.toBeInstanceOf(
      Unauthenticated,
    );
  });
});
