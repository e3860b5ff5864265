import type { Position } from '../../../shared/domain/position.ts';
import { parseDeadLetterSort } from '../../../shared/store/dead-letter-keys.ts';
import { parseLogKey, TOPICS } from '../../../shared/store/keys.ts';
import { toPosition } from '../../../shared/store/position-item.ts';
import { parsePendingSort } from '../../../shared/store/push-keys.ts';
import { toSubscription } from '../../../shared/store/subscription-item.ts';
import type { Item } from '../simulator/expressions.ts';
import type { Change } from '../simulator/tables.ts';
import type { World } from '../simulator/world.ts';
import type {
  Effect,
  KeptLetter,
  LetterChange,
  LetterState,
  Line,
  MarkChange,
  PositionChange,
  PushHistory,
  SubscriptionItem,
  TargetCall,
} from './history.ts';
import { laneLineOf, lineOf } from './history.ts';

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
  readonly marks: MarkChange[] = [];
  readonly topicsGone = new Map<string, number>();
  readonly acted: PushHistory['acted'][number][] = [];
  /** Positions, and those of parked keys, as they are now. */
  readonly #now = new Map<string, Position>();
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
    } else if (pk === TOPICS) {
      const [was, is] = [before?.id?.S, after?.id?.S];
      if (was !== undefined && was !== is) this.topicsGone.set(was, at);
    } else if (first === 'touched') {
      this.touched.set(sk, Math.max(this.touched.get(sk) ?? 0, Number(second)));
    } else if (what === 'lanes') {
      const of = parseLogKey(pk.split('#')[3]!);
      this.#takePosition({ at, groupId: second, lane: sk, ...of, ...both(toPosition) });
    } else if (first === 'pending') {
      const { lane, isRedrive: _, ...of } = parsePendingSort(sk);
      if (lane !== undefined && (before === undefined) !== (after === undefined)) {
        this.marks.push({ at, ...of, lane, isThere: after !== undefined });
      }
    } else if (sk === 'position') {
      this.#takePosition({ at, groupId: second, ...parseLogKey(what), ...both(toPosition) });
    } else if (what === 'dead-letters') {
      this.letterChanges.push({ at, groupId: second, ...parseDeadLetterSort(sk), ...both(letterState) });
      if (before !== undefined) return;
      const { attempts, error } = after!;
      const kept = { attempts: Number(attempts!.N), error: error!.M!.name!.S! };
      this.letters.push({ at, groupId: second, ...parseDeadLetterSort(sk), ...kept });
    }
  }

  #takePosition(change: PositionChange): void {
    this.positions.push(change);
    if (change.after === undefined) this.#now.delete(laneLineOf(change));
    else this.#now.set(laneLineOf(change), change.after);
  }

  #takeEffect({ pk, sk }: Item): void {
    const [groupId = '', log = ''] = pk!.S!.split(' ');
    const line = { groupId, ...parseLogKey(log) };
    const ofLane = `${lineOf(line)}#`;
    const lanes = [...this.#now].filter(([name]) => name.startsWith(ofLane));
    this.effects.push({
      ...{ at: this.#world.now, ...line, offset: Number(sk!.S), position: this.#now.get(lineOf(line)) },
      lanes: new Map(lanes.map(([name, lane]) => [name.slice(ofLane.length), lane])),
    });
  }

  /** A position, or a parked key's, as it is now. */
  stands(of: Line & { readonly lane?: string }): Position | undefined {
    return this.#now.get(laneLineOf(of));
  }

  /** What is left of some parked key. */
  parked(): string | undefined {
    const marked = new Map(this.marks.map((mark) => [laneLineOf(mark), mark.isThere]));
    const lanes = [...this.#now.keys()].filter((name) => name.includes('#'));
    return [...lanes, ...marked.keys()].find((name) => marked.get(name) !== false || this.#now.has(name));
  }

  tell(body: string): void {
    const { group, id } = JSON.parse(body) as { group: string; id: string };
    this.told.push({ group, id, at: this.#world.now });
  }

  history(of: Pick<PushHistory, 'retentionMs' | 'skewMs' | 'prompt' | 'isOnce' | 'keys'>): PushHistory {
    const { calls, positions, marks, subscriptions, letters, letterChanges, effects } = this;
    const { told, made, sought, acted, topicsGone } = this;
    const { mirror } = this.#world;
    const reservedAt = (...offset: Parameters<typeof mirror.reservedAt>) => mirror.reservedAt(...offset);
    const found = { calls, positions, marks, subscriptions, letters, letterChanges, effects };
    return { ...of, ...found, told, made, sought, acted, topicsGone, slots: mirror.slots, reservedAt };
  }
}

function letterState({ redrives, redriveAt }: Item): LetterState {
  return { redrives: Number(redrives!.N), isMarked: redriveAt !== undefined };
}
