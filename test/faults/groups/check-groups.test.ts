import { describe, expect, it } from 'vitest';
import type { Plan } from '../../../shared/domain/plan.ts';
import { checkGroups } from './check-groups.ts';
import type { GroupHistory, GroupViolation, MemberAnswer, MemberCall, PositionChange } from './history.ts';

const GROUP = '01JGR00P000000000000000000';
const TOPIC = '01JT0P1C000000000000000000';
const [A, B] = ['01JAAAAAAAAAAAAAAAAAAAAAAA', '01JBBBBBBBBBBBBBBBBBBBBBBB'] as const;
const SESSION_MS = 10_000;
/** Their tenures begin with these; A's plan holds from 1,000 on, B's from 20,000 on. */
const [OF_A, OF_B] = [5_000, 24_000] as const;

type Editable<T> = T extends { readonly forEach: unknown; readonly get: unknown }
  ? T
  : { -readonly [K in keyof T]: Editable<T[K]> };
type Edited = Editable<GroupHistory>;

const at = (offset: number) => ({ topic: 'orders', partition: 0, offset });
const recordAt = (offset: number) => ({ ...at(offset), record: `r${offset}` });

function planFor(owner: string, epochFrom: number): Plan {
  const members = [A, B].map((key) => ({ key, sessionTimeoutMs: SESSION_MS }));
  const topics = [{ name: 'orders', id: TOPIC, partitions: 1 }];
  return { topics, members, owners: [[owner === A ? 0 : 1]], epochFrom: [[epochFrom]] };
}

function poll(memberId: string, begin: number, asked: Partial<MemberCall>, answer: Partial<MemberAnswer>): MemberCall {
  const none = { positions: [], commit: [], release: [] };
  const told = { memberId, assigned: [], revoked: [], commits: [], records: [], ...answer };
  return { kind: 'poll', caller: memberId, memberId, begin, end: begin + 100, ...none, ...asked, answer: told };
}

function position(at: number, before: PositionChange['before'], after: PositionChange['after']): PositionChange {
  return { at, groupId: GROUP, topicId: TOPIC, partition: 0, before, after };
}

const held = (owner: string, epoch: number, offset: number) => ({ ...at(offset), epoch, owner });
const stored = (epoch: number, committed: number, owner?: string) => ({ epoch, committed, ...(owner && { owner }) });

/** A reads four records and commits two; B joins, is to have the partition, A gives it back, and B reads on from there. */
function rightHistory(): Edited {
  const a = () => held(A, OF_A, 2);
  const b = () => held(B, OF_B, 4);
  const history: GroupHistory = {
    slots: [0, 1, 2, 3].map((offset) => {
      const slot = { topicId: TOPIC, partition: 0, base: offset, last: offset, records: [`r${offset}`] };
      return { ...slot, spilled: false, at: 0, storedAt: 10 };
    }),
    calls: [
      poll(A, 2_000, {}, { assigned: [a()], records: [recordAt(0), recordAt(1)] }),
      poll(A, 4_000, { positions: [a()], commit: [a()] }, { assigned: [a()], commits: [at(2)] }),
      poll(A, 21_000, { positions: [a()] }, { revoked: [a()] }),
      poll(A, 22_000, { commit: [a()], release: [a()] }, { commits: [at(2)] }),
      poll(B, 23_000, {}, { assigned: [b()], records: [recordAt(2), recordAt(3)] }),
      poll(B, 24_000, { positions: [b()], commit: [b()] }, { assigned: [b()], commits: [at(4)] }),
    ],
    handled: [
      ...[0, 1].map((offset) => ({ memberId: A, ...recordAt(offset), epoch: OF_A, at: 2_500 })),
      ...[2, 3].map((offset) => ({ memberId: B, ...recordAt(offset), epoch: OF_B, at: 23_500 })),
    ],
    foreign: [],
    positions: [
      position(2_050, undefined, stored(OF_A, 0, A)),
      position(4_050, stored(OF_A, 0, A), stored(OF_A, 2, A)),
      position(22_050, stored(OF_A, 2, A), stored(OF_A, 2)),
      position(23_050, stored(OF_A, 2), stored(OF_B, 2, B)),
      position(24_050, stored(OF_B, 2, B), stored(OF_B, 4, B)),
    ],
    members: [A, B].map((memberId, i) => {
      const after = { memberId, sessionTimeoutMs: SESSION_MS, lastSeenAt: 900 + i };
      return { at: 900 + i, groupId: GROUP, key: memberId, before: undefined, after };
    }),
    groups: [1, 2].map((version) => {
      const before = version === 1 ? undefined : { version: version - 1 };
      return { at: version === 1 ? 1_000 : 20_000, group: 'g', groupId: GROUP, before, after: { version } };
    }),
    assignments: [
      { at: 990, groupId: GROUP, version: 1, before: undefined, after: planFor(A, OF_A) },
      { at: 19_990, groupId: GROUP, version: 2, before: undefined, after: planFor(B, OF_B) },
    ],
    topics: [{ at: 800, groupId: GROUP, topicId: TOPIC, before: undefined, after: { name: 'orders', known: 1 } }],
    deletedTopics: new Map(),
    skewMs: 0,
  };
  return structuredClone(history) as Edited;
}

function kindsAfter(edit: (history: Edited) => void): GroupViolation['kind'][] {
  const history = rightHistory();
  edit(history);
  return [...new Set(checkGroups(history as GroupHistory).map(({ kind }) => kind))];
}

const answerOf = (history: Edited, call: number) => history.calls[call]!.answer as Editable<MemberAnswer>;

describe('a history of a group', () => {
  it('is right when partitions go from hand to hand, and records are committed once they are handled', () => {
    expect(kindsAfter(() => {})).toEqual([]);
  });

  it('may give again what was not committed', () => {
    const kinds = kindsAfter((history) => {
      answerOf(history, 1).records.push(recordAt(2));
      answerOf(history, 1).assigned[0]!.offset = 3;
    });
    expect(kinds).toEqual([]);
  });

  it.each<[GroupViolation['kind'], string, (history: Edited) => void]>([
    ['record skipped', 'a record is committed that nobody handled', ({ handled }) => void handled.pop()],
    [
      'past the watermark',
      'a commit passes what is settled',
      ({ slots }) => Object.assign(slots[3]!, { storedAt: 25_000 }),
    ],
    ['commit not kept', 'an accepted commit never stood', ({ positions }) => void positions.splice(4)],
    [
      'commit went back',
      'a commit goes back',
      ({ positions }) => void positions.push(position(25_000, stored(OF_B, 4, B), stored(OF_B, 3, B)) as never),
    ],
    [
      'epoch went back',
      'an epoch goes back',
      ({ positions }) => void positions.push(position(40_000, stored(OF_B, 4, B), stored(OF_A, 4, A)) as never),
    ],
    [
      'one epoch, two owners',
      'an epoch has two owners',
      ({ positions }) => void positions.push(position(25_000, stored(OF_B, 4, B), stored(OF_B, 4, A)) as never),
    ],
    [
      'taken with another offset',
      'a take moves what is committed',
      ({ positions }) => {
        positions[3]!.after!.committed = 3;
        positions[4]!.before!.committed = 3;
      },
    ],
    [
      'fenced without reason',
      'an owner is refused',
      (history) => Object.assign(answerOf(history, 1).commits[0]!, { error: 'fenced' }),
    ],
    [
      'given without owning',
      'records come with an epoch that nobody had',
      (history) => Object.assign(answerOf(history, 0).assigned[0]!, { epoch: 7 }),
    ],
    [
      'given without owning',
      'records come of a partition that is not assigned',
      (history) => void answerOf(history, 2).records.push(recordAt(2)),
    ],
    ['given wrong records', 'a record is left out', (history) => void answerOf(history, 4).records.shift()],
    [
      'given wrong records',
      'what was committed is given to the next owner',
      (history) => void answerOf(history, 4).records.unshift(recordAt(1)),
    ],
    [
      'given after it was taken',
      'the former owner is given records',
      (history) => {
        const given = { assigned: [held(A, OF_A, 3)], records: [recordAt(2)] };
        history.calls.push(poll(A, 25_000, { positions: [held(A, OF_A, 2)] }, given) as never);
      },
    ],
    [
      'repeat differs',
      'a lost answer is not given again',
      (history) => {
        const asked = { positions: [held(B, OF_B, 2)] };
        const answer = (offset: number) => ({ assigned: [held(B, OF_B, 3)], records: [recordAt(offset)] });
        const lost = { ...poll(B, 26_000, asked, answer(2)), lost: true };
        history.calls.push(lost as never, poll(B, 27_000, asked, answer(3)) as never);
      },
    ],
    [
      'released by nobody',
      'a position is given up that its owner did not release',
      ({ calls }) => Object.assign(calls[3]!, { release: [] }),
    ],
    [
      'taken too early',
      'a position is taken while its owner has time to release it',
      (history) => {
        history.positions.splice(2, 2, position(23_050, stored(OF_A, 2, A), stored(OF_B, 2, B)) as never);
        history.calls[3]!.release = [];
      },
    ],
    [
      'taken by a session that is over',
      'a session takes after its end',
      ({ members }) => {
        const { after } = members[1]!;
        members.push({ at: 15_000, groupId: GROUP, key: B, before: after, after: undefined });
      },
    ],
    [
      'expired too early',
      'a member is put out that was just seen',
      ({ members }) => {
        const before = { ...members[0]!.after!, lastSeenAt: 24_000 };
        members.push({ at: 25_000, groupId: GROUP, key: A, before, after: undefined });
      },
    ],
    [
      'changed by nobody',
      'a position is set that nobody set',
      ({ positions }) => void positions.push(position(40_000, stored(OF_B, 4, B), stored(50_000, 0)) as never),
    ],
    [
      'changed under a live member',
      'a position is set while its owner lives',
      (history) => {
        history.foreign.push({ group: 'g', begin: 39_000 });
        history.members[1]!.after!.lastSeenAt = 39_000;
        history.positions.push(position(40_000, stored(OF_B, 4, B), stored(50_000, 0)) as never);
      },
    ],
    [
      'assignment changed',
      'a version is written twice',
      ({ assignments }) => void assignments.push({ ...assignments[1]!, before: assignments[1]!.after }),
    ],
    [
      'assignment changed',
      'a version goes back',
      ({ groups }) => void groups.push({ ...groups[1]!, before: { version: 2 }, after: { version: 1 } }),
    ],
    [
      'added partition begins late',
      'an added partition begins behind its first record',
      (history) => {
        history.topics[0]!.after!.known = 0;
        history.positions[0]!.after!.committed = 1;
        history.positions[1]!.before!.committed = 1;
      },
    ],
  ])('is told: %s, when %s', (kind, _, edit) => {
    expect(kindsAfter(edit)).toContain(kind);
  });
});
