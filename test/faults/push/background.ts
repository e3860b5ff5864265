import type { SQSRecord } from 'aws-lambda';
import { workOff } from '../../../functions/wake-messages.ts';
import type { WakeUp } from '../../../shared/domain/wake-up.ts';
import { deliverWakeUp, sendBack } from '../../../shared/operations/deliver-wake-up.ts';
import { sweepWakeUps } from '../../../shared/operations/sweep-wake-ups.ts';
import { wakeSubscribers } from '../../../shared/operations/wake-subscribers.ts';
import { parseLogItemKey } from '../../../shared/store/keys.ts';
import { decodeWakeUp } from '../../../shared/store/wake-queue.ts';
import type { Host } from '../simulator/host.ts';
import type { Change } from '../simulator/tables.ts';
import type { Told } from '../simulator/world.ts';
import { sweepOnce } from '../sweeper.ts';
import { portsOf } from './ports.ts';
import type { PushRun } from './push-run.ts';
import type { Message } from './wake-service.ts';

const MINUTE = 60_000;
const END_MARGIN_MS = 2_000;
/** What a delivery is given; less makes it hand on more often. */
const DELIVER_MS = [900_000, 900_000, 120_000, 60_000];
const SWEEP_MS = 25_000;
const DISPATCH_MS = 20_000;

/** The functions that nobody waits for: deliveries, the stream's, the sweep. */
export class Background {
  readonly #run: PushRun;

  constructor(run: PushRun) {
    this.#run = run;
  }

  /** Follows the log's stream, some time later, and again until it is done. */
  take({ table, before, after }: Change): void {
    if (table !== 'log' || before !== undefined || after === undefined) return;
    const key = parseLogItemKey(after.log!.S!, Number(after.last!.N));
    if (key.kind === 'slot' && this.#run.environment.sources.includes('stream')) this.#dispatch(key);
  }

  /** @returns whether the message is done; undefined when nobody tells */
  async deliver(message: Message): Promise<boolean | undefined> {
    const host = this.#run.anyHost();
    this.#run.harm(host);
    const ports = portsOf(host);
    const receives = this.#run.service.forgetsReceives ? 1 : message.receives;
    const record = {
      ...{ messageId: message.id, receiptHandle: message.id, body: message.body },
      attributes: { ApproximateReceiveCount: String(receives) },
    } as unknown as SQSRecord;
    const told = await this.#timed(host, (deadline) =>
      workOff(ports.wakeQueue, [record], async () => {
        const wakeUp = decodeWakeUp(message.body)!;
        await deliverWakeUp(ports, wakeUp, { isReturned: receives > 1, deadline }).catch((error) => {
          this.#run.unexpected(error);
          throw error;
        });
        return [];
      }),
    );
    if (told === 'nothing') return undefined;
    return 'answer' in told && told.answer.batchItemFailures.length === 0;
  }

  /** Hands a wake-up to the functions that serve those who take long. */
  async aside(from: Host, wakeUp: WakeUp): Promise<void> {
    const { world, random } = this.#run;
    await new Promise<void>((resolve) => world.scheduler.after(random.between(5, 30), '', () => from.wake(resolve)));
    void this.#serveAside(wakeUp);
  }

  async #serveAside(aside: WakeUp): Promise<void> {
    const host = this.#run.anyHost();
    this.#run.harm(host);
    this.#run.saw('served aside');
    const { aside: _, ...ports } = portsOf(host);
    const told = await this.#timed(host, (deadline) =>
      deliverWakeUp(ports, aside, { isReturned: false, deadline }).catch((error) => {
        this.#run.unexpected(error);
        return sendBack(ports, aside);
      }),
    );
    if (told !== 'nothing' && 'answer' in told) return;
    // The platform's own record of what died: it goes where the function's failures go.
    this.#run.saw('died aside');
    await this.#run.sleep(this.#run.random.between(100, 2_000));
    const MessageBody = JSON.stringify({ version: '1.0', requestPayload: { aside } });
    await this.#run.service.run('SendMessageBatch', { Entries: [{ MessageBody }] });
  }

  /** Every minute, until the run is over. */
  async sweep(): Promise<void> {
    const { random, environment, world } = this.#run;
    for (;;) {
      await this.#run.sleep(MINUTE);
      if (environment.sources.includes('sweep')) {
        const host = this.#run.anyHost();
        if (!world.isCalm) this.#run.harm(host);
        const ports = portsOf(host);
        const told = await this.#within(host, SWEEP_MS + 5_000, () =>
          sweepWakeUps(ports, ports.clock.now() + SWEEP_MS),
        );
        if (told !== 'nothing') {
          for (const failure of 'error' in told ? [told.error] : told.answer) this.#run.unexpected(failure);
        }
      }
      if (random.chance(0.1)) await sweepOnce(this.#run);
    }
  }

  #dispatch(slot: { readonly topicId: string; readonly partition: number; readonly last: number }): void {
    const { world, random } = this.#run;
    const ms = random.chance(0.1) ? random.between(1_000, 90_000) : random.between(100, 600);
    world.scheduler.after(ms, '', async () => {
      const host = this.#run.anyHost();
      this.#run.harm(host);
      void this.#within(host, DISPATCH_MS, () => wakeSubscribers(portsOf(host), [slot])).then((told) => {
        if (told !== 'nothing' && 'error' in told) this.#run.unexpected(told.error);
        if (told === 'nothing' || 'error' in told) this.#dispatch(slot);
      });
    });
  }

  async #timed<T>(host: Host, act: (deadline: number) => Promise<T>): Promise<Told<T>> {
    const { random, world } = this.#run;
    const ms = random.pick(DELIVER_MS);
    const deadline = host.backbone.clock.now() + ms - END_MARGIN_MS;
    const told = await this.#within(host, ms, () => act(deadline));
    // A function that runs out of its time is ended, with all that its process does; but one may go on somewhere.
    if (told === 'nothing' && host.alive) {
      this.#run.saw('delivery ran out of time');
      if (random.chance(0.5)) world.crash(host);
    }
    return told;
  }

  /** A call that takes longer than callers of the API would wait. */
  #within<T>(host: Host, ms: number, act: () => Promise<T>): Promise<Told<T>> {
    const answered = new Promise<Told<T>>((tell) => {
      host.wake(() => {
        act().then(
          (answer) => tell({ answer }),
          (error) => tell({ error }),
        );
      });
    });
    const nothing = (): 'nothing' => 'nothing';
    return Promise.race([answered, host.died.then(nothing), this.#run.sleep(ms).then(nothing)]);
  }
}
