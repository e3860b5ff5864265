import type { TransactWriteItemsCommandInput } from '@aws-sdk/client-dynamodb';
import type { PushState } from '../../../shared/domain/position.ts';
import type { PartitionId } from '../../../shared/domain/topic.ts';
import { replacePort } from '../replace-port.ts';
import { TABLES } from '../simulator/tables.ts';
import { lineOf } from './history.ts';
import type { PushRun } from './push-run.ts';
import { PARKING_SABOTAGES } from './sabotage-parking.ts';
import { like, type Sabotage, wrong } from './sabotage-tools.ts';

/** A position that is stepped on, but something is not written down of how it went. */
const forgetful = (forget: (push: PushState) => PushState) =>
  wrong('pushPositions', (positions) => ({
    step: (position, by, to) => positions.step(position, by, { ...to, push: forget(to.push) }),
  }));

const withoutFailure = (push: PushState, change: Partial<PushState['failure'] & object>): PushState =>
  push.failure === undefined ? push : { ...push, failure: { ...push.failure, ...change } };

/** Functions that change the conditions of what `processOnce` writes beside the user's writes. */
const unconditional =
  (kinds: readonly ('Put' | 'Update' | 'ConditionCheck')[], without: (condition?: string) => string | undefined) =>
  (run: PushRun): void => {
    run.spoil = (host) =>
      host.rewrite((operation, input) => {
        if (operation !== 'TransactWriteItems') return input;
        const { TransactItems } = input as object as TransactWriteItemsCommandInput;
        return {
          TransactItems: TransactItems!.map((item) => {
            const kind = kinds.find((kind) => item[kind]?.TableName === TABLES.stateTable);
            if (kind === undefined) return item;
            const ConditionExpression = without(item[kind]!.ConditionExpression);
            return { [kind]: { ...item[kind], ConditionExpression } };
          }),
        };
      });
  };

/**
 * Deliveries that are broken on purpose, each by one wrong port of every host. The product has no switch for any of them.
 * `seedsMax`: among this many seeds, in an environment where it matters, the checker must have noticed.
 */
export const PUSH_SABOTAGES: Readonly<Record<string, Sabotage>> = {
  ...PARKING_SABOTAGES,
  'a delivery that does not look once more when it has let go': {
    seedsMax: 40,
    environment: like('the doorbell alone', { moods: ['slow'] }),
    break: (run) => {
      run.sabotage = (ports) => {
        const released = new Set<string>();
        replacePort(ports, 'pushPositions', (positions) => ({
          step: async (position, by, to) => {
            const line = lineOf({ ...position, groupId: '' });
            if (to.until === undefined) released.add(line);
            return positions.step(position, by, to);
          },
        }));
        replacePort(ports, 'heads', (heads) => ({
          read: async (partition: PartitionId, strong?: boolean) => {
            const isLook = strong === undefined && released.delete(lineOf({ ...partition, groupId: '' }));
            return isLook ? undefined : heads.read(partition, strong);
          },
        }));
      };
    },
  },
  'a returned message that is dropped': {
    seedsMax: 60,
    environment: like('the doorbell alone', { dies: 0.3 }),
    break: (run) => {
      run.service.forgetsReceives = true;
    },
  },
  'a wake-up that is lost with what died aside': {
    seedsMax: 40,
    environment: like('the stream alone', { dies: 0.3, moods: ['slow'] }),
    break: ({ service }) => {
      const run = service.run.bind(service);
      service.run = async (operation, input) =>
        JSON.stringify(input).includes('requestPayload') ? { output: {} } : run(operation, input);
    },
  },
  'a step that does not look whose the position is': {
    seedsMax: 40,
    environment: like('deliveries stand still', { seeks: 0.5 }),
    break: wrong('pushPositions', (positions, run) => ({
      step: async (position, by, to) => {
        const line = lineOf({ ...position, groupId: position.group.id });
        const now = run.seen.positions.findLast((change) => lineOf(change) === line)?.after;
        const is = { owner: now?.owner ?? by.owner, epoch: now?.epoch ?? by.epoch };
        return positions.step(position, is, { ...to, epoch: Math.max(to.epoch, is.epoch) });
      },
    })),
  },
  'a take that does not look at the owner': {
    seedsMax: 20,
    environment: like('deliveries', { moods: ['slow'] }),
    break: (run) => {
      run.sabotage = (ports, host) => {
        replacePort(ports, 'positions', (positions) => ({
          read: async (...read) => {
            const { owner: _, until: __, ...free } = (await positions.read(...read)) ?? { epoch: -1, committed: 0 };
            return free.epoch === -1 ? undefined : free;
          },
        }));
        host.rewrite((_, input) => {
          const { ConditionExpression: condition } = input as { ConditionExpression?: string };
          if (!condition?.includes('#until < :now')) return input;
          const [first] = condition.split(' AND (attribute_not_exists(#owner)');
          const { ':now': __, ...values } = (input as { ExpressionAttributeValues?: object & { ':now'?: object } })
            .ExpressionAttributeValues!;
          return { ...input, ConditionExpression: first, ExpressionAttributeValues: values };
        });
      };
    },
  },
  'a pause after a failure that nobody remembers': {
    seedsMax: 20,
    environment: like('deliveries', { moods: ['away'] }),
    break: forgetful((push) => withoutFailure(push, { retryAt: 0 })),
  },
  'a batch that failed and is sent whole again': {
    seedsMax: 40,
    environment: like('records fail'),
    break: forgetful((push) => withoutFailure(push, { span: 1_000, end: Number.MAX_SAFE_INTEGER })),
  },
  'dead letters in a row that nobody counts': {
    seedsMax: 20,
    environment: like('an hour of nothing but 500', { halting: 0 }),
    break: forgetful(({ deadLettersInARow: _, ...push }) => push),
  },
  'a dead letter that is kept after its record was passed': {
    seedsMax: 20,
    environment: like('records fail', { halting: 0 }),
    break: wrong('deadLetters', (letters, run) => ({
      put: async (...letter) => {
        run.world.scheduler.after(1_000, '', () => void letters.put(...letter).catch(() => {})); // a lost one is lost
      },
    })),
  },
  'a dead letter that nobody is told of': {
    seedsMax: 40,
    environment: like('records fail', { halting: 0 }),
    break: wrong('deadLetterQueue', (queue, run) => ({
      tell: async (...letter) => {
        if (run.random.chance(0.5)) await queue.tell(...letter);
      },
    })),
  },
  'a commit although its call failed': {
    seedsMax: 20,
    environment: like('deliveries', { moods: ['names'] }),
    break: (run) => {
      run.sabotage = (ports) => {
        const { callOf } = ports;
        Object.assign(ports, {
          callOf: (subscription: Parameters<typeof callOf>[0]): ReturnType<typeof callOf> => {
            const send = callOf(subscription);
            return async (...call) => {
              const told = await send(...call);
              return told.kind === 'failed' ? { kind: 'done' } : told;
            };
          },
        });
      };
    },
  },
  'an unsettled slot that nobody comes back for': {
    seedsMax: 60,
    environment: like('the doorbell alone', { crowd: 0.9, seeks: 0 }),
    break: wrong('wakeQueue', (queue) => ({
      wake: async (wakeUps, delayMs) => (delayMs === 3_000 ? undefined : queue.wake(wakeUps, delayMs)),
    })),
  },
  'a slow subscription that is served among the others': {
    seedsMax: 20,
    environment: like('isolation'),
    break: (run) => {
      run.sabotage = (ports) => {
        Object.assign(ports, { aside: undefined });
      };
    },
  },
  'a sweep to which nobody tells what has grown': {
    seedsMax: 20,
    environment: like('the sweep alone'),
    break: wrong('touched', () => ({ note: async () => {} })),
  },
  'a partition that is added and begins at its end': {
    seedsMax: 60,
    environment: like('deliveries', { latest: 1, grow: 1 }),
    break: wrong('positions', (positions, run) => ({
      createAll: async (group, starts) => {
        const atEnd = starts.map(({ topicId, partition, ...start }) => {
          const settled = run.world.mirror.settled.get(`${topicId}.${partition}`) ?? 0;
          const ends = run.world.mirror.held(topicId, partition).map(({ last }) => last + 1);
          return { topicId, partition, ...start, committed: Math.max(settled, ...ends) };
        });
        return positions.createAll(group, atEnd);
      },
    })),
  },
  'a redriven letter that is gone when it fails': {
    seedsMax: 20,
    environment: like('redrives'),
    break: wrong('redrives', (redrives) => ({ land: (group, letter, seen) => redrives.end(group, letter, seen) })),
  },
  'redrives that go by the last offset first': {
    seedsMax: 40,
    environment: like('redrives', { redrives: 1 }),
    break: wrong('redrives', (redrives) => ({
      first: async (group, partition) => (await redrives.list(group, 1_000, partition)).at(-1),
    })),
  },
  'redriven letters that fail without a trace': {
    seedsMax: 20,
    environment: like('redrives'),
    break: wrong('redrives', (redrives) => ({
      land: async (group, letter) => {
        await redrives.recall(group, letter);
        return true;
      },
    })),
  },
  'an effect whose mark is put whatever is there': {
    seedsMax: 20,
    environment: like('effects once'),
    break: unconditional(['Put'], () => undefined),
  },
  'an effect that does not look whose the position is': {
    seedsMax: 20,
    environment: like('effects once'),
    break: unconditional(['Update', 'ConditionCheck'], (condition) =>
      condition?.replace(' AND #epoch = :epoch AND attribute_exists(#owner)', ''),
    ),
  },
};
