import type { Readable, Writable } from 'node:stream';
import type { ExitCode } from './exit-codes.ts';

/** Somewhere to write: a terminal, a file or a pipe. */
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** All that a command has of the world besides the network and files. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Bytes that standard input will bring, where it is a file. */
  readonly stdinBytes?: number | undefined;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted with an `Interruption` when the command is to come to its end. */
  readonly interrupted: AbortSignal;
  /** From now on somebody else listens to signals. */
  leaveSignals(): void;
}

/** Why a command was told to end, and with which exit code it does so then. */
export class Interruption extends Error {
  constructor(readonly exitCode: ExitCode) {
    super('interrupted');
    this.name = 'Interruption';
  }
}

/** Writes, and waits while the other side is busy. What cannot be written because nobody reads any more is dropped. */
export function write(output: Output, text: string | Uint8Array): Promise<void> | undefined {
  if (output.destroyed || output.write(text)) return undefined;
  return new Promise((resolve) => {
    const end = () => {
      for (const event of ['drain', 'close', 'error']) output.off(event, end);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) output.once(event, end);
  });
}

// What is shown may hold words of others: a terminal is not to obey them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are meant
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Text of others on one line, with nothing in it that a terminal would obey. */
export function plain(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}
