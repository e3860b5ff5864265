import { expect } from 'vitest';
import type { Scenario } from './scenario.ts';
import type { Trial } from './trial.ts';

interface Assigned {
  readonly topic: string;
  readonly partition: number;
  readonly epoch: number;
  readonly offset: number;
}
interface Polled {
  readonly memberId: string;
  readonly assigned: readonly Assigned[];
  readonly revoked: readonly Omit<Assigned, 'offset'>[];
  readonly commits: readonly { readonly error?: { readonly code: string } }[];
  readonly records: readonly { readonly partition: number; readonly offset: number; readonly value: unknown }[];
}

const poll = (trial: Trial, group: string, body: object) =>
  trial.json<Polled>('POST', `/v1/groups/${group}/poll`, { body });

/** Where a member goes on, said as committed. */
const commitAll = (assigned: readonly Assigned[]) => assigned.map((each) => ({ ...each }));

/** Consumer groups. */
export const GROUPS: readonly Scenario[] = [
  {
    name: 'a group goes on where it has committed, whoever is its member',
    async run(trial) {
      const topic = await trial.topic('work', { partitions: 2 });
      const group = trial.named('workers');
      trial.removeLater(`/v1/groups/${group}`);
      await trial.produce(topic, [
        { value: 'a', partition: 0 },
        { value: 'b', partition: 1 },
      ]);
      const first = await poll(trial, group, { memberId: null, topics: [topic] });
      expect(first.records.map(({ value }) => value).sort()).toEqual(['a', 'b']);
      const { memberId, assigned } = first;
      const path = `/v1/groups/${group}`;
      const commits = await trial.json<Polled>('POST', `${path}/commits`, {
        body: { memberId, offsets: commitAll(assigned) },
      });
      expect(commits.commits.map(({ error }) => error)).toEqual([undefined, undefined]);
      await trial.json('POST', `${path}/leave`, { body: { memberId } }, 204);

      await trial.produce(topic, [{ value: 'c', partition: 1 }]);
      const second = await poll(trial, group, { memberId: null, topics: [topic] });
      expect(second.records.map(({ value }) => value)).toEqual(['c']);
      const { offsets, members } = await trial.json<{ offsets: { lag: number }[]; members: object[] }>('GET', path);
      expect(members).toHaveLength(1);
      expect(offsets).toMatchObject([
        { topic, partition: 0, committed: 1, lag: 0 },
        { topic, partition: 1, committed: 1, lag: 1 },
      ]);
    },
  },
  {
    name: 'two members share the partitions, and who has lost one commits no more to it',
    async run(trial) {
      const topic = await trial.topic('shared', { partitions: 2 });
      const group = trial.named('pair');
      trial.removeLater(`/v1/groups/${group}`);
      await trial.produce(topic, [
        { value: 'a', partition: 0 },
        { value: 'b', partition: 1 },
      ]);
      const first = await poll(trial, group, { memberId: null, topics: [topic] });
      expect(first.assigned).toHaveLength(2);
      const second = await poll(trial, group, { memberId: null, topics: [topic] });

      const next = { memberId: first.memberId, topics: [topic], positions: first.assigned };
      const told = await poll(trial, group, next);
      expect(told.revoked).toHaveLength(1);
      const [lost] = told.revoked;
      const kept = told.assigned.find(({ partition }) => partition !== lost!.partition)!;
      await poll(trial, group, { ...next, positions: [kept], release: [lost] });
      await trial.until('the second member to have its share', async () => {
        const { assigned } = await poll(trial, group, { memberId: second.memberId, topics: [topic] });
        return assigned.some(({ partition }) => partition === lost!.partition);
      });

      const late = { ...lost, offset: 1 };
      const refused = await trial.json<Polled>(
        ...(['POST', `/v1/groups/${group}/commits`] as const),
        { body: { memberId: first.memberId, offsets: [late] } },
        409,
      );
      expect(refused).toMatchObject({ code: 'fenced' });
    },
  },
];
