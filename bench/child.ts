import { fork } from 'node:child_process';
import { once } from 'node:events';

/** A process of the bench's own, which answers questions one at a time. */
export interface Child {
  /** @throws {Error} when the process ended instead */
  ask<Answer>(question: object): Promise<Answer>;
  /** Lets the process go, and waits for its end. */
  close(): Promise<void>;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** Starts a file of this folder, which calls `answerParent`. What it prints goes nowhere, but for its errors. */
export function startChild(
  file: string,
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): Child {
  const child = fork(new URL(file, import.meta.url), {
    env: { ...process.env, ...environment },
    execArgv: [...process.execArgv, ...nodeOptions],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  let waiting: Waiting | undefined;
  child.on('message', (answer) => waiting?.resolve(answer));
  child.on('exit', (code, signal) => waiting?.reject(new Error(`${file} ended with ${code ?? signal}`)));
  return {
    ask: <Answer>(question: object) =>
      new Promise<Answer>((resolve, reject) => {
        waiting = { resolve: resolve as Waiting['resolve'], reject };
        child.send(question);
      }),
    async close() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** In the child: answers until the parent lets go or is gone, then cleans up. */
export function answerParent<Question>(
  answer: (question: Question) => Promise<object>,
  cleanUp: () => Promise<void> = async () => {},
): void {
  // Ctrl-C reaches the whole group: the parent ends, and with it the channel, and then it is time to clean up.
  process.on('SIGINT', () => {});
  process.on('message', async (question) => process.send!(await answer(question as Question)));
  process.on('disconnect', async () => {
    await cleanUp();
    process.exit();
  });
}
