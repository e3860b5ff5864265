/** What there is to deliver to, and what wakes deliveries. */
export interface DeliveriesPorts {
  readonly subscriptions: { list(limit: number): Promise<{ readonly items: readonly unknown[] }> };
  readonly wakeQueue: { isEmpty(): Promise<boolean> };
  readonly deliveries: {
    switch(on: boolean): Promise<void>;
    /** Also while it is on its way there. */
    is(on: boolean): Promise<boolean>;
  };
}

/**
 * Sees that what wakes deliveries is on while there is a subscription, or while something waits in the wake queue: what
 * removals left there is worked off even where nobody subscribes. Otherwise it is off, and costs nothing. That is what
 * a change of a subscription switches, too; this comes after it where that broke off, where a deployment set it back, or
 * where somebody switched it by hand.
 *
 * @throws {Throttled | Unavailable} the next round sees to it
 */
export async function keepDeliveries({ subscriptions, wakeQueue, deliveries }: DeliveriesPorts): Promise<void> {
  const isOn = (await isSubscribed(subscriptions)) || !(await wakeQueue.isEmpty());
  if (await deliveries.is(isOn)) return;
  if (isOn) await deliveries.switch(true);
  else await rest({ subscriptions, deliveries });
}

/** Switches off. Whoever subscribes meanwhile is seen by the second look, or switches on after this switched off. */
export async function rest({
  subscriptions,
  deliveries,
}: {
  readonly subscriptions: DeliveriesPorts['subscriptions'];
  readonly deliveries: Pick<DeliveriesPorts['deliveries'], 'switch'>;
}): Promise<void> {
  await deliveries.switch(false);
  if (await isSubscribed(subscriptions)) await deliveries.switch(true);
}

async function isSubscribed(subscriptions: DeliveriesPorts['subscriptions']): Promise<boolean> {
  return (await subscriptions.list(1)).items.length > 0;
}
