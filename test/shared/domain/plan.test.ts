import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { memberKeyOf, newMemberId, nextEpoch } from '../../../shared/domain/group.ts';
import { CLOCK_MARGIN_MS } from '../../../shared/domain/limits.ts';
import { isSamePlan, mayTake, type Plan, tenureFrom } from '../../../shared/domain/plan.ts';
import type { Position } from '../../../shared/domain/position.ts';

const NOW = 1_800_000_000_000;
const ULIDS = ['01BX5ZZKBKACTAV9WEVGEMMVRY', '01ARZ3NDEKTSV4RRFFQ69G5FAV', '01CCCCCCCCCCCCCCCCCCCCCCCC'] as const;
const [mine, other, gone] = ULIDS;
const SESSION_MS = 30_000;
const plan: Pick<Plan, 'members'> = { members: [mine, other].map((key) => ({ key, sessionTimeoutMs: SESSION_MS })) };
const share = { epochFrom: tenureFrom(NOW) };
const me = { key: mine, memberId: mine };
const positionOf = (epoch: number, owner?: string): Position => ({
  epoch,
  committed: 7,
  ...(owner === undefined ? {} : { owner }),
});
const asks = (position: Position | undefined, now = NOW + 1, isCurrent = false) =>
  mayTake(position, share, me, plan, now, isCurrent);

describe('a partition that a plan gives to a member', () => {
  it('is made where there is none, and taken where nobody has it', () => {
    expect(asks(undefined)).toBe('create');
    expect(asks(positionOf(NOW - 1))).toBe('take');
    // Released in this tenure, by the member itself.
    expect(asks(positionOf(share.epochFrom + 1))).toBe('take');
  });

  it('is the member’s already when it took it in this tenure and did not hear of it', () => {
    expect(asks(positionOf(share.epochFrom, mine))).toBe('mine');
    expect(asks(positionOf(share.epochFrom + 99, mine))).toBe('mine');
  });

  it('is taken again when the member had it in a tenure before: nothing that it says of that one is believed', () => {
    expect(asks(positionOf(share.epochFrom - 1, mine))).toBe('take');
  });

  it('is taken at once from an owner that is no member any more', () => {
    expect(asks(positionOf(NOW - 1, gone))).toBe('take');
    expect(asks(positionOf(NOW - 1, 'of no member at all'))).toBe('take');
  });

  it('is waited for while its owner is a member that may still release it: its session and a margin', () => {
    const last = NOW + SESSION_MS + CLOCK_MARGIN_MS - 1;
    expect(asks(positionOf(NOW - 1, other), NOW)).toBe('wait');
    expect(asks(positionOf(NOW - 1, other), last)).toBe('wait');
    expect(asks(positionOf(NOW - 1, other), last + 1)).toBe('take');
  });

  it('is taken from an earlier session of the same static member, whatever its epoch, once mine is known to be the last', () => {
    const [first, second] = ULIDS.map((ulid) => newMemberId(ulid, 'billing-1'));
    const key = memberKeyOf(first!)!;
    const members = { members: [{ key, sessionTimeoutMs: SESSION_MS }] };
    for (const epoch of [NOW - 1, share.epochFrom + 1]) {
      const me = { key, memberId: second! };
      expect(mayTake(positionOf(epoch, first), share, me, members, NOW)).toBe('stale');
      expect(mayTake(positionOf(epoch, first), share, me, members, NOW, true)).toBe('take');
    }
  });

  it('is left when somebody took it in a younger tenure, until the plan is known to be the last', () => {
    const epoch = share.epochFrom + 500;
    for (const owner of [other, gone]) expect(asks(positionOf(epoch, owner))).toBe('stale');
    expect(asks(positionOf(epoch, gone), NOW, true)).toBe('take');
    // It took from an older plan, late: its time runs from then on, else nobody would ever have the partition.
    const last = epoch + SESSION_MS + CLOCK_MARGIN_MS - 1;
    expect(asks(positionOf(epoch, other), last, true)).toBe('wait');
    expect(asks(positionOf(epoch, other), last + 1, true)).toBe('take');
  });

  it('goes from hand to hand with epochs that rise, and is nobody’s for ever', () => {
    const acts = fc.array(
      fc.record({
        who: fc.integer({ min: 0, max: 1 }),
        /** Of the clock of whoever acts, within the margin. */
        skewMs: fc.integer({ min: -CLOCK_MARGIN_MS / 2, max: CLOCK_MARGIN_MS / 2 }),
        act: fc.constantFrom('replan', 'take', 'release'),
        pauseMs: fc.integer({ min: 0, max: 5_000 }),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(acts, (all) => {
        const keys = [mine, other];
        let now = NOW;
        let named = 0;
        let epochFrom = tenureFrom(now);
        let position: Position | undefined;
        const attempt = (who: number, clock: number) => {
          const self = { key: keys[who]!, memberId: keys[who]! };
          const verdict = mayTake(position, { epochFrom }, self, plan, clock, true);
          if (verdict !== 'wait' && verdict !== 'mine') {
            const epoch = nextEpoch(position?.epoch ?? 0, clock, epochFrom);
            expect(epoch).toBeGreaterThan(position?.epoch ?? 0);
            position = { epoch, committed: 0, owner: self.memberId };
          }
          return verdict;
        };
        for (const { who, skewMs, act, pauseMs } of all) {
          now += pauseMs;
          if (act === 'replan' && who !== named) {
            named = who;
            epochFrom = Math.max(tenureFrom(now + skewMs), epochFrom + 1);
          } else if (act === 'take' && who === named) attempt(who, now + skewMs);
          else if (act === 'release' && position !== undefined && position.owner === keys[who]) {
            position = { epoch: position.epoch, committed: position.committed };
          }
        }
        // The other's last act may be to have taken it, and never to poll again.
        now += SESSION_MS + 4 * CLOCK_MARGIN_MS;
        expect(attempt(named, now)).not.toBe('wait');
        expect(attempt(named, now)).toBe('mine');
      }),
    );
  });
});

it('two plans are the same when they say the same of everybody', () => {
  const whole: Plan = {
    topics: [{ name: 'a', id: 'x', partitions: 2 }],
    members: [...plan.members],
    owners: [[0, 1]],
    epochFrom: [[1, 2]],
  };
  expect(isSamePlan(whole, structuredClone(whole))).toBe(true);
  const others: Partial<Plan>[] = [
    { topics: [] },
    { topics: [{ name: 'a', id: 'y', partitions: 2 }] },
    { topics: [{ name: 'a', id: 'x', partitions: 3 }] },
    { members: plan.members.slice(1) },
    { members: plan.members.map((member) => ({ ...member, sessionTimeoutMs: 1 })) },
    { owners: [[1, 0]] },
    { owners: [[0]] },
    { epochFrom: [[1, 3]] },
  ];
  for (const change of others) expect(isSamePlan(whole, { ...whole, ...change }), JSON.stringify(change)).toBe(false);
});
