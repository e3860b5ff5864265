import { expect, it } from 'vitest';
import { LATE_MAX_MS, PURGE_GROUP_ITEMS_PARALLEL } from '../../../shared/domain/limits.ts';
import { dueGroupPurges, type GroupPurgePorts } from '../../../shared/operations/purge-groups.ts';

/** A group that was deleted at 0, with that many positions in one topic, and one dead letter in the bucket. */
function purgeOf(positions: number) {
  const left = new Set(Array.from({ length: positions }, (_, partition) => partition));
  const calls: string[] = [];
  const note = async (name: string) => void calls.push(name);
  let letters = 1;
  const letter = { topicId: 'T', partition: 0, offset: 0, topic: 'orders', error: { name: 'E', message: '' } };
  const facts = { attempts: 1, redrives: 0, firstFailedAt: 0, deadLetteredAt: 0 };
  const object = { size: 1, sha256: '' };
  const clock = { ms: LATE_MAX_MS, now: () => clock.ms };
  const ports: GroupPurgePorts = {
    clock,
    groups: { listDeleted: async () => [{ name: 'g', id: 'G', at: 0 }], forget: () => note('forget') },
    members: { all: async () => [], leave: async () => true },
    groupTopics: {
      all: async () => [{ topicId: 'T', name: 'orders', known: 1, partitions: positions }],
      remove: () => note(`forget topic, ${left.size} positions left`),
    },
    positions: { remove: async ({ partition }) => void left.delete(partition) },
    subscribers: { of: async () => [], remove: (topicId) => note(`no subscriber of ${topicId}`) },
    topicItems: { marksOf: async () => undefined, unmarkSubscribed: async () => {} },
    deadLetters: {
      list: async () => ({ items: letters === 0 ? [] : [{ ...letter, ...facts, payload: { object } }] }),
      delete: async () => {
        letters = 0;
        calls.push('delete letter');
        return true;
      },
    },
    deadLetterObjects: { remove: () => note('remove object') },
    observe: ({ kind }) => void calls.push(kind),
  };
  return { ports, calls, left, clock };
}

it('begins with a deleted group only when nothing that was under way can land any more', async () => {
  const { ports, clock } = purgeOf(1);
  clock.ms -= 1;
  expect(await dueGroupPurges(ports)).toEqual([]);
  clock.ms += 1;
  expect(await dueGroupPurges(ports)).toHaveLength(1);
});

it('leaves what it may not do to a later run, which ends it: what tells of the rest goes last', async () => {
  const { ports, calls, left } = purgeOf(3 * PURGE_GROUP_ITEMS_PARALLEL);
  let runs = 2;
  const [task] = await dueGroupPurges(ports);
  await task!(async () => runs-- > 0);
  expect(left.size).toBe(PURGE_GROUP_ITEMS_PARALLEL);
  expect(calls).toEqual([]);
  const asked: number[] = [];
  await task!(async (items = 0) => asked.push(items) > 0);
  expect(calls).toEqual([
    ...['no subscriber of T', 'forget topic, 0 positions left', 'remove object', 'delete letter'],
    ...['forget', 'group_purged'],
  ]);
  expect(Math.max(...asked)).toBe(PURGE_GROUP_ITEMS_PARALLEL);
});
