import type { Clock } from '../domain/clock.ts';
import type { GroupId } from '../domain/group.ts';
import type { LaneId } from '../domain/lane.ts';
import type { Subscription, SubscriptionChange } from '../domain/subscription.ts';
import type { TargetSpec } from '../domain/target-spec.ts';
import type { Page, Topic } from '../domain/topic.ts';
import type { LaneMark, Subscriber } from '../domain/wake-up.ts';
import type { GroupPorts, GroupStores } from './group-ports.ts';
import type { UnsubscribePorts } from './unsubscribe-topic.ts';
import type { WakePorts } from './wake-subscription.ts';
import type { WalkPorts } from './walk.ts';

/** What looking after subscriptions needs. */
export interface SubscriptionPorts
  extends WalkPorts,
    WakePorts,
    Pick<GroupPorts, 'topics' | 'newGroupId' | 'sleep' | 'random'> {
  readonly subscriptions: {
    read(name: string): Promise<Subscription | undefined>;
    /** @returns false: a group has the name */
    create(subscription: Subscription): Promise<boolean>;
    /** @returns undefined: it is no longer as it was seen */
    change(seen: Subscription, to: SubscriptionChange): Promise<Subscription | undefined>;
    list(limit: number, after?: string): Promise<Page<GroupId>>;
    /** @returns false: it is no longer this incarnation */
    delete(group: GroupId, at: number): Promise<boolean>;
  };
  readonly subscribers: {
    put(topicId: string, subscriber: Subscriber): Promise<void>;
  } & UnsubscribePorts['subscribers'];
  readonly topicItems: {
    /** @returns false: this incarnation is gone */
    markSubscribed(topic: Topic): Promise<boolean>;
  } & UnsubscribePorts['topicItems'];
  readonly groups: GroupStores['groups'];
  readonly members: GroupStores['members'];
  readonly groupTopics: GroupStores['groupTopics'];
  readonly positions: GroupStores['positions'];
  /** Marks of parked keys, and their lanes. */
  readonly pending: WakePorts['pending'] & {
    lanesOf(group: GroupId, limit: number, after?: string): Promise<Page<LaneMark>>;
    ofLane(id: LaneId): Promise<LaneMark | undefined>;
  };
  readonly lanes: {
    /** @returns false: it is not at this offset any more */
    giveUp(id: LaneId, offset: number): Promise<boolean>;
  };
  readonly targets: {
    /**
     * Whether records may, and can, be pushed there.
     * @returns how long a call to it takes at most, where it says so itself
     * @throws {TargetNotAllowed | TargetForbidden | Unavailable}
     */
    check(target: TargetSpec): Promise<{ readonly timeoutMs?: number }>;
  };
  /** What wakes deliveries: it costs something even while nothing is delivered. */
  readonly deliveries: { switch(on: boolean): Promise<void> };
  /** A new one each time, as Standard Webhooks writes it. */
  newSecret(): string;
  readonly clock: Clock;
}
