import { type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { Subscription } from '../../../shared/domain/subscription.ts';
import type { CallRoom, DeliverySink } from '../../../shared/operations/deliver-ports.ts';
import { replacePort } from '../replace-port.ts';
import type { PushRun } from './push-run.ts';
import { like, type Sabotage } from './sabotage-tools.ts';

/** Hands over other records than it is asked for, or tells something else of them. */
const reading =
  (room: (asked: CallRoom) => CallRoom, of: (sink: DeliverySink) => Partial<DeliverySink> = () => ({})) =>
  (run: PushRun): void => {
    run.sabotage = (ports) => {
      const { openCall } = ports;
      Object.assign(ports, {
        openCall: (asked: CallRoom, subscription: Subscription) => {
          const sink = openCall(room(asked), subscription);
          return Object.assign(sink, of(sink));
        },
      });
    };
  };

/** Parts of some transactions are not sent with them. @param later ms after which they are; absent: never */
const without =
  (isLeftOut: (item: TransactWriteItem, all: readonly TransactWriteItem[]) => boolean, later?: number) =>
  (run: PushRun): void => {
    run.sabotage = (_, host) =>
      host.rewrite((operation, input) => {
        const { TransactItems: all = [] } = input as { TransactItems?: TransactWriteItem[] };
        const left = operation === 'TransactWriteItems' ? all.filter((item) => isLeftOut(item, all)) : [];
        if (left.length === 0 || left.length === all.length) return input;
        const send = () => host.dynamodb.send(new TransactWriteItemsCommand({ TransactItems: left })).catch(() => {}); // as lost as its answer
        if (later !== undefined) run.world.scheduler.after(later, '', () => host.wake(() => void send()));
        return { ...input, TransactItems: all.filter((item) => !left.includes(item)) };
      });
  };

const isOfLane = ({ Put, Delete }: TransactWriteItem): boolean => {
  const key = Put?.Item ?? Delete?.Key;
  return Put?.Item?.parkedAt !== undefined || /#lane|#lanes#/.test(`${key?.pk?.S}${key?.sk?.S}`);
};

/** Of the transaction by which a position is changed from outside. */
const isSeek = (all: readonly TransactWriteItem[]): boolean =>
  all.some(({ Update }) => Update?.UpdateExpression?.startsWith('SET #epoch = :next, #committed = :to') === true);

/** The parking of keys, each time with one thing wrong. */
export const PARKING_SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'a key that is parked without a lane': {
    seedsMax: 20,
    environment: like('parked keys'),
    break: without(({ Put }) => Put?.Item?.parkedAt !== undefined),
  },
  'a key that is passed over before it has a lane': {
    seedsMax: 20,
    environment: like('parked keys, deliveries die'),
    break: without((item) => item.Put !== undefined && isOfLane(item), 1_000),
  },
  'parked keys that are handed over all the same': {
    seedsMax: 20,
    environment: like('parked keys'),
    break: reading(({ parked: _, ...room }) => room),
  },
  'a lane that reads past its partition': {
    seedsMax: 60,
    environment: like('parked keys'),
    break: reading(({ end, ...room }) => (room.lane === undefined && end !== undefined ? { ...room, end } : room)),
  },
  'a dead letter that is redriven beside the lane of its key': {
    seedsMax: 60,
    environment: like('parked keys, redriven'),
    break: (run) => {
      run.sabotage = (ports) => {
        const { openLetter } = ports;
        Object.assign(ports, {
          openLetter: (bytes: Uint8Array, offset: number) => {
            const opened = openLetter(bytes, offset);
            return typeof opened === 'string' ? opened : { record: opened.record };
          },
        });
      };
    },
  },
  'a key that is back before the rest of its lane is given': {
    seedsMax: 60,
    environment: like('parked keys, busy'),
    break: (run) => {
      run.sabotage = (ports) => {
        replacePort(ports, 'lanes', (lanes) => ({
          list: async (position) => {
            const { committed = 0 } = run.seen.stands({ ...position, groupId: position.group.id }) ?? {};
            return (await lanes.list(position)).map((lane) => ({ ...lane, committed }));
          },
        }));
        replacePort(ports, 'pushPositions', (positions) => ({
          take: async (position, seen, by) => {
            const { committed = 0 } = run.seen.stands({ ...position, groupId: position.group.id }) ?? {};
            return positions.take(position, position.lane === undefined ? seen : { ...seen, committed }, by);
          },
        }));
      };
    },
  },
  'a seek that leaves lanes': {
    seedsMax: 60,
    environment: like('parked keys, administrators'),
    break: without((item, all) => item.Delete !== undefined && isOfLane(item) && isSeek(all)),
  },
  'a parked key that is given up before its time': {
    seedsMax: 20,
    environment: like('parked keys, retention overtakes'),
    break: reading(
      (room) => room,
      (sink) => {
        const life = sink.life.bind(sink);
        return {
          life: (offset) => {
            const { since, until = Number.POSITIVE_INFINITY } = life(offset);
            return { since, until: since + (until - since) / 2 };
          },
        };
      },
    ),
  },
  'a partition that waits where a key is parked': {
    seedsMax: 40,
    environment: like('parked keys, isolation'),
    break: (run) => {
      run.sabotage = (ports) =>
        replacePort(ports, 'lanes', (lanes) => ({
          park: async (...parking) => {
            await ports.sleep(15_000);
            return lanes.park(...parking);
          },
        }));
    },
  },
};
