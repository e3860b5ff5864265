/** What a deployment looks after. */
export interface ProvisionedThing {
  readonly kind: 'topic' | 'subscription';
  readonly name: string;
}

/** Who looks after it. */
export interface Provision {
  /**
   * The resource of a stack that made it, or took it over, last. One that was moved within its app is another resource: the
   * new one has taken it over by the time at which the old one is removed, which then must not touch it.
   */
  readonly owner: string;
  /** It was there before any stack looked after it: then no stack removes it. */
  readonly adopted: boolean;
}

/**
 * What becomes of it when it leaves the app. `retain`: it stays. `delete`: it goes, with all that it holds. `unlessNeeded`, for
 * subscriptions: it goes, but where dead letters wait it stays, and is paused.
 */
export type OnRemoval = 'retain' | 'delete' | 'unlessNeeded';
