/** Asked before each step, with the items that it would delete. False: leave the rest to a later run. */
export type MayGoOn = (items?: number) => Promise<boolean>;

/** Work that asks before each step whether it may go on, and ends when it may not. */
export type Task = (mayGoOn: MayGoOn) => Promise<void>;

/**
 * Does tasks side by side, one working at a time: each for a turn, then the next, round after round, until all are done or
 * there is no more to be done in this run. So one that is huge holds up no other.
 *
 * @param turnItems items that a task may delete in one turn; a step that deletes none counts as one
 * @returns what single tasks failed with
 */
export async function takeTurns(tasks: readonly Task[], mayGoOn: MayGoOn, turnItems: number): Promise<unknown[]> {
  const failures: unknown[] = [];
  let left = tasks.map((task) => new Turns(task, mayGoOn, (error) => failures.push(error)));
  while (left.length > 0) {
    for (const turns of left) {
      if (!(await mayGoOn())) {
        await Promise.all(left.map((other) => other.stop()));
        return failures;
      }
      await turns.next(turnItems);
    }
    left = left.filter(({ isDone }) => !isDone);
  }
  return failures;
}

/** One task, which stands still between its turns. */
class Turns {
  isDone = false;
  readonly #start: () => Promise<void>;
  #running: Promise<void> | undefined;
  #itemsLeft = 0;
  #isStopped = false;
  /** Steps that wait for the next turn: a task may do several at a time. */
  #waiting: (() => void)[] = [];
  #turnOver: () => void = () => {};

  constructor(task: Task, mayGoOn: MayGoOn, failed: (error: unknown) => void) {
    this.#start = async () => {
      await task((items) => this.#mayGoOn(mayGoOn, items)).catch(failed);
      this.isDone = true;
    };
  }

  /** Resolves when the task is done, or has used its turn up: what it has begun it still brings to an end. */
  async next(items: number): Promise<void> {
    this.#itemsLeft = items;
    const over = new Promise<void>((resolve) => {
      this.#turnOver = resolve;
    });
    this.#goOn();
    await Promise.race([this.#running, over]);
  }

  /** Resolves when the task has ended, with no other step. */
  async stop(): Promise<void> {
    if (this.#running === undefined) return;
    this.#isStopped = true;
    this.#goOn();
    await this.#running;
  }

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
    this.#running ??= this.#start();
  }

  async #mayGoOn(mayGoOn: MayGoOn, items = 0): Promise<boolean> {
    while (this.#itemsLeft <= 0 && !this.#isStopped) {
      this.#turnOver();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#isStopped) return false;
    this.#itemsLeft -= Math.max(1, items);
    return mayGoOn(items);
  }
}
