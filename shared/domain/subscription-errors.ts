import { BackboneError, type ErrorCode, type ErrorData } from './errors.ts';
import type { Group } from './group.ts';

/** No subscription has this name. Nothing was written. */
export class SubscriptionNotFound extends BackboneError {
  readonly code = 'subscription_not_found';
  override readonly data: ErrorData;
  constructor(subscription: string) {
    super(`Subscription '${subscription}' does not exist`);
    this.data = { subscription };
  }
}

/** No key of the subscription is parked by this id, or none any more. Nothing was done. */
export class ParkedKeyNotFound extends BackboneError {
  readonly code = 'parked_key_not_found';
  override readonly data: ErrorData;
  constructor(subscription: string, id: string) {
    super(`Subscription '${subscription}' has no parked key '${id}': it is back, or never was parked`);
    this.data = { subscription, id };
  }
}

/** The backbone itself is the group's only member, and whoever looks after it does so by its subscription. Nothing was written. */
export class GroupIsSubscription extends BackboneError {
  readonly code = 'group_is_subscription';
  override readonly data: ErrorData;
  constructor(group: string) {
    super(`Group '${group}' belongs to the subscription of that name: the backbone reads for it, and nobody else`);
    this.data = { group };
  }
}

/** A group whose members poll has the name that a subscription was to have. Nothing was written. */
export class GroupIsPull extends BackboneError {
  readonly code = 'group_is_pull';
  override readonly data: ErrorData;
  constructor(group: string) {
    super(`'${group}' is a group whose members poll: delete it first, or name the subscription otherwise`);
    this.data = { group };
  }
}

/** As many subscriptions as a topic may have. Nothing was written. */
export class TooManySubscriptions extends BackboneError {
  readonly code = 'too_many_subscriptions';
  override readonly data: ErrorData;
  constructor(topic: string, maxSubscriptions: number) {
    super(`Topic '${topic}' has ${maxSubscriptions} subscriptions, which is the most`);
    this.data = { topic, maxSubscriptions };
  }
}

/** The target has not opted in. Nothing was written. */
export class TargetForbidden extends BackboneError {
  readonly code = 'target_forbidden';
  override readonly data: ErrorData;
  /** @param command what lets it in, when typed by whoever the target belongs to */
  constructor(reason: string, command: string) {
    super(`The target has not opted in: ${reason}. Its owner opts in with: ${command}`);
    this.data = { command };
  }
}

/** A target was refused by the function that would push to it. Nothing was written. */
export class TargetRefused extends BackboneError {
  override readonly retryable: boolean;
  constructor(
    readonly code: ErrorCode,
    detail: string,
    override readonly data: ErrorData,
  ) {
    super(detail);
    this.retryable = code === 'unavailable';
  }
}

/** @throws {GroupIsSubscription} */
export function refuseSubscription(group: Group): void {
  if (group.isSubscription) throw new GroupIsSubscription(group.name);
}
