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

/**
 * Writes, and waits while the other side is busy. What cannot be written because nobody reads any more is dropped.
 * @param onFailure told that it was
 */
export function write(output: Output, text: string | Uint8Array, onFailure = () => {}): Promise<void> | undefined {
  if (output.destroyed) return void onFailure();
  if (output.write(text, (error) => error && onFailure())) return undefined;
  return new Promise((resolve) => {
    const end = () => {
      for (const event of ['drain', 'close', 'error']) output.off(event, end);
      resolve();
    };
    for (const event of ['drain', 'close', 'error']) output.once(event, end);
  });
}

/** To the beginning of the line, and everything on it gone: a bar is drawn again below. */
const ERASE_LINE = '\r\u001b[K';

/** Writes a line of its own on standard error, also while a bar is drawn there. */
export function tell(stderr: Output, line: string): void {
  stderr.write(`${stderr.isTTY ? ERASE_LINE : ''}${line}\n`);
}

/** Waits until all that was written has left this process, or never will. */
export function flushed(output: Output): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      output.off('error', end);
      resolve();
    };
    output.once('error', end); // then no callback may come any more
    output.write('', end); // after those of all writes before it
  });
}

// What is shown may hold words of others: a terminal is not to obey them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are meant
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Text of others on one line, with nothing in it that a terminal would obey. */
export function plain(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}
