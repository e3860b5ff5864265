/** Something to write on: standard output, as a rule. */
export interface Screen {
  write(text: string): unknown;
  /** A terminal, whose lines can be rewritten; else a file or a pipe. */
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

// What is printed may hold words of others: only line breaks and tabs are obeyed.
// biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these are meant
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Lines that stay and, on a real terminal, lines below them that are rewritten in place. */
export class Terminal {
  readonly #screen: Screen;
  readonly #write: (text: string) => unknown;
  #status: readonly string[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#write = screen.write.bind(screen);
  }

  /** Whether status lines can be rewritten in place. */
  get rewrites(): boolean {
    return this.#screen.isTTY === true;
  }

  /** Prints a line that stays. */
  print(line: string): void {
    this.#write(`${this.#erased()}${line.replace(CONTROL, '\ufffd')}\n${this.#drawn()}`);
  }

  /** Replaces the lines at the bottom. Each is cut to the screen's width: a wrapped line could not be taken back. */
  showStatus(lines: readonly string[]): void {
    const erased = this.#erased();
    const width = (this.#screen.columns ?? 80) - 1;
    this.#status = lines.map((line) => (line.length > width ? `${line.slice(0, width - 1)}…` : line));
    this.#write(`${erased}${this.#drawn()}`);
  }

  /** Cursor to the first status line, and everything from there on gone. */
  #erased(): string {
    return this.#status.length === 0 ? '' : `\u001b[${this.#status.length}F\u001b[J`;
  }

  #drawn(): string {
    return this.#status.map((line) => `${line}\n`).join('');
  }
}

/**
 * Takes what the process writes to standard output and error from now on, line by line: the functions log by writing
 * there, as Lambda wants it, and not all of that is for a person's eyes. A `Terminal` made before still reaches the screen.
 */
export function captureOutput(onLine: (line: string) => void): void {
  for (const stream of [process.stdout, process.stderr]) {
    let rest = '';
    const captured = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
      const lines = (rest + (typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())).split('\n');
      rest = lines.pop()!;
      lines.forEach(onLine);
      const done = more.find((argument) => typeof argument === 'function') as (() => void) | undefined;
      if (done) queueMicrotask(done);
      return true;
    };
    stream.write = captured as typeof stream.write;
  }
}
