import type { Claim } from '../domain/claim.ts';
import type { Clock } from '../domain/clock.ts';
import { LIST_LIMIT_MAX } from '../domain/limits.ts';
import type { Page, Topic } from '../domain/topic.ts';
import type { Findings } from './findings.ts';
import type { PartitionEnds } from './partition-ends.ts';

/** A claim, with what its key tells. */
export interface StoredClaim extends Claim {
  readonly topicId: string;
  /** SHA-256 of the idempotency key, base64url. */
  readonly keyDigest: string;
}

export interface ClaimExaminationPorts {
  readonly topicItems: { list(limit: number, after?: string): Promise<Page<Topic>> };
  readonly claims: {
    /** @returns `looked`: how many items were gone through; `next`: where to go on */
    scan(after?: string): Promise<Page<StoredClaim> & { readonly looked: number }>;
  };
  readonly clock: Clock;
}

/** Finds the claims that say of offsets that records were stored there which the log does not have. Reads the whole State table. */
export async function examineClaims(
  ports: ClaimExaminationPorts,
  ends: PartitionEnds,
  looksMax: number,
  findings: Findings,
): Promise<void> {
  await findings.attempt('claims', async () => {
    const names = await topicNames(ports);
    const now = ports.clock.now() / 1_000;
    for (let after: string | undefined; ; ) {
      const { items, looked, next } = await ports.claims.scan(after);
      findings.looked('items of the State table', looked);
      for (const claim of items) {
        if (claim.expiresAt <= now) continue;
        findings.looked('claims');
        const name = names.get(claim.topicId);
        if (name !== undefined) await examineClaim(name, claim, ends, findings);
      }
      if (next === undefined) return;
      if (findings.countOf('items of the State table') >= looksMax) {
        return findings.leave('claims', `only the first ${looksMax} items were gone through`);
      }
      after = next;
    }
  });
}

async function examineClaim(name: string, claim: StoredClaim, ends: PartitionEnds, findings: Findings): Promise<void> {
  const { topicId, keyDigest, pins } = claim;
  for (const { partition, base, count } of pins) {
    const end = await ends.endBelow(name, { topicId, partition }, base + count);
    if (end === undefined) continue;
    const subject = `claim ${keyDigest} of topic ${name}`;
    const detail = `it pins ${name}-${partition} from ${base} to ${base + count - 1}, the log ends at ${end}`;
    findings.add({ code: 'claim_beyond_log', subject, detail, data: { partition, base, count, end } });
  }
}

/** Names of live topics by id. */
async function topicNames({ topicItems }: ClaimExaminationPorts): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (let after: string | undefined; ; ) {
    const { items, next } = await topicItems.list(LIST_LIMIT_MAX, after);
    for (const { id, name } of items) names.set(id, name);
    if (next === undefined) return names;
    after = next;
  }
}
