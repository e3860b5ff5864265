import { parseDeadLetterSort } from '../../../shared/store/dead-letter-keys.ts';
import { parseLogKey } from '../../../shared/store/keys.ts';
import { toPosition } from '../../../shared/store/position-item.ts';
import { toSubscription } from '../../../shared/store/subscription-item.ts';
import type { Item } from '../simulator/expressions.ts';
import type { Change } from '../simulator/tables.ts';
import type { World } from '../simulator/world.ts';
import type {
  Effect,
  KeptLetter,
  LetterChange,
  LetterState,
  PositionChange,
  PushHistory,
  SubscriptionItem,
  TargetCall,
} from './history.ts';
import { lineOf } from './history.ts';

/** Collects what targets see, and what the table holds of subscriptions, while a simulated world runs. */
export class PushRecorder {
  readonly calls: TargetCall[] = [];
  readonly positions: PositionChange[] = [];
  readonly subscriptions: SubscriptionItem[] = [];
  readonly letters: KeptLetter[] = [];
  readonly letterChanges: LetterChange[] = [];
  readonly effects: Effect[] = [];
  readonly told: PushHistory['told'][number][] = [];
  readonly made: PushHistory['made'][number][] = [];
  readonly sought: PushHistory['sought'][number][] = [];
  /** The last hour, since the epoch, in which a partition was noted, by log. */
  readonly touched = new Map<string, number>();
  /** Sort keys of the marks of parked keys that are there. */
  readonly laneMarks = new Set<string>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  take({ table, before, after }: Change): void {
    if (table === 'user') this.#takeEffect(after!);
    const item = after ?? before;
    const pk = item?.pk?.S;
    if (table !== 'state' || pk === undefined) return;
    const sk = item!.sk!.S!;
    const at = this.#world.now;
    const both = <T>(read: (item: Item) => T) => ({ before: before && read(before), after: after && read(after) });
    const [first = '', second = '', what = ''] = pk.split('#');
    if (first === 'subscription') {
      this.subscriptions.push({ at, ...both((one) => toSubscription(second, one)) });
    } else if (first === 'touched') {
      this.touched.set(sk, Math.max(this.touched.get(sk) ?? 0, Number(second)));
    } else if (what === 'lanes') {
      const of = parseLogKey(pk.split('#')[3]!);
      this.positions.push({ at, groupId: second, lane: sk, ...of, ...both(toPosition) });
    } else if (first === 'pending' && sk.includes('#lane.')) {
      if (after === undefined) this.laneMarks.delete(sk);
      else this.laneMarks.add(sk);
    } else if (sk === 'position') {
      this.positions.push({ at, groupId: second, ...parseLogKey(what), ...both(toPosition) });
    } else if (what === 'dead-letters') {
      this.letterChanges.push({ at, groupId: second, ...parseDeadLetterSort(sk), ...both(letterState) });
      if (before !== undefined) return;
      const { attempts, error } = after!;
      const kept = { attempts: Number(attempts!.N), error: error!.M!.name!.S! };
      this.letters.push({ at, groupId: second, ...parseDeadLetterSort(sk), ...kept });
    }
  }

  #takeEffect({ pk, sk }: Item): void {
    const [groupId = '', log = ''] = pk!.S!.split(' ');
    const line = { groupId, ...parseLogKey(log) };
    const position = this.positions.findLast((one) => one.lane === undefined && lineOf(one) === lineOf(line))?.after;
    this.effects.push({ at: this.#world.now, ...line, offset: Number(sk!.S), position });
  }

  tell(body: string): void {
    const { group, id } = JSON.parse(body) as { group: string; id: string };
    this.told.push({ group, id, at: this.#world.now });
  }

  history(of: Pick<PushHistory, 'retentionMs' | 'skewMs' | 'prompt' | 'isOnce'>): PushHistory {
    const { calls, positions, subscriptions, letters, letterChanges, effects, told, made, sought } = this;
    const { mirror } = this.#world;
    const reservedAt = (...offset: Parameters<typeof mirror.reservedAt>) => mirror.reservedAt(...offset);
    const found = { calls, positions, subscriptions, letters, letterChanges, effects, told, made, sought };
    return { ...of, ...found, slots: mirror.slots, reservedAt };
  }
}

function letterState({ redrives, redriveAt }: Item): LetterState {
  return { redrives: Number(redrives!.N), isMarked: redriveAt !== undefined };
}
