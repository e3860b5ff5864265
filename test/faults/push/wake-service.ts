import type { Random } from '../simulator/random.ts';
import type { Scheduler } from '../simulator/scheduler.ts';
import type { Outcome } from '../simulator/tables.ts';
import type { PushSituation } from './coverage.ts';

/** How messages fare. Probabilities, and how many are worked on at once. */
export interface QueueHabits {
  lost: number;
  doubled: number;
  late: number;
  undone: number;
  readonly concurrency: number;
}

export interface Message {
  readonly id: string;
  readonly body: string;
  readonly group: string;
  receives: number;
  /** Seconds after which it comes back, when somebody has said so. */
  delayS?: number;
}

type Entry = { readonly MessageBody: string; readonly MessageGroupId?: string; readonly DelaySeconds?: number };

/** Source: infrastructure, the wake queue's visibility timeout; shorter ones bring more returned messages. */
const VISIBILITY_MS = [40_000, 120_000, 16 * 60_000];
const RECEIVES_MAX = 40;
const LATE_MS = [5_000, 60_000, 20 * 60_000, 2 * 3_600_000];

/** The wake queue and the dead-letter queue, whole: at least once, in any order, fair between groups of messages. */
export class WakeService {
  readonly habits: QueueHabits;
  /** Told of each message of the dead-letter queue. */
  onDeadLetter: (body: string) => void = () => {};
  /** Works on a message. @returns whether it is done; undefined: whoever worked on it was not heard of again */
  work: (message: Message) => Promise<boolean | undefined> = async () => true;
  /** For a queue that is wrong on purpose: each message says that it is received for the first time. */
  forgetsReceives = false;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #saw: (situation: PushSituation) => void;
  readonly #waiting: Message[] = [];
  /** Messages by handle; how many of each group are worked on. */
  readonly #received = new Map<string, Message>();
  readonly #busy = new Map<string, number>();
  #working = 0;
  #named = 0;

  constructor(scheduler: Scheduler, random: Random, habits: QueueHabits, saw: (situation: PushSituation) => void) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.habits = habits;
    this.#saw = saw;
  }

  async run(operation: string, input: object): Promise<Outcome> {
    switch (operation) {
      case 'SendMessageBatch':
        for (const entry of (input as { Entries: Entry[] }).Entries) this.#take(entry);
        return { output: {} };
      case 'SendMessage':
        this.onDeadLetter((input as Entry).MessageBody);
        return { output: {} };
      case 'ChangeMessageVisibility': {
        const { ReceiptHandle, VisibilityTimeout } = input as { ReceiptHandle: string; VisibilityTimeout: number };
        const message = this.#received.get(ReceiptHandle);
        if (message !== undefined) message.delayS = VisibilityTimeout;
        return { output: {} };
      }
      default:
        throw new Error(`the queue has no ${operation}`);
    }
  }

  #take({ MessageBody: body, MessageGroupId: group = '', DelaySeconds = 0 }: Entry): void {
    const { lost, doubled, late } = this.habits;
    if (this.#random.chance(lost)) {
      this.#saw('wake-up lost');
      return;
    }
    const copies = this.#random.chance(doubled) ? 2 : 1;
    if (copies > 1) this.#saw('wake-up doubled');
    for (let copy = 0; copy < copies; copy++) {
      const isLate = this.#random.chance(late);
      if (isLate) this.#saw('wake-up late');
      const message = { id: `q${++this.#named}`, body, group, receives: 0 };
      const ms = DelaySeconds * 1_000 + (isLate ? this.#random.pick(LATE_MS) : this.#random.between(1, 30));
      this.#later(message, ms);
    }
  }

  #later(message: Message, ms: number): void {
    this.#scheduler.after(ms, '', () => {
      this.#waiting.push(message);
      this.#next();
    });
  }

  /** Whoever has the fewest messages at work comes next. */
  #next(): void {
    while (this.#working < this.habits.concurrency && this.#waiting.length > 0) {
      const busyOf = ({ group }: Message) => this.#busy.get(group) ?? 0;
      const least = Math.min(...this.#waiting.map(busyOf));
      const [message] = this.#waiting.splice(
        this.#waiting.findIndex((one) => busyOf(one) === least),
        1,
      );
      void this.#receive(message!);
    }
  }

  async #receive(message: Message): Promise<void> {
    const { group, id } = message;
    this.#working += 1;
    this.#busy.set(group, (this.#busy.get(group) ?? 0) + 1);
    message.receives += 1;
    if (message.receives > 1) this.#saw('wake-up returned');
    this.#received.set(id, message);
    this.#scheduler.note(() => `${id} is received (${message.receives}): ${message.body}`);
    const isDone = await this.work(message);
    this.#scheduler.note(() => `${id} is ${isDone ? 'done' : 'left'}`);
    this.#working -= 1;
    this.#busy.set(group, this.#busy.get(group)! - 1);
    this.#received.delete(id);
    const comesBack = isDone && this.#random.chance(this.habits.undone);
    if (comesBack) this.#saw('wake-up returned though it was done');
    if ((!isDone || comesBack) && message.receives < RECEIVES_MAX) {
      const { delayS } = message;
      delete message.delayS;
      const invisibleMs = this.#random.pick(VISIBILITY_MS);
      this.#later(message, isDone === false && delayS !== undefined ? delayS * 1_000 : invisibleMs);
    }
    this.#next();
  }
}
