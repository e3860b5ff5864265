import { SURROUNDINGS } from '../client/surroundings.ts';
import type { Context } from './context.ts';
import { write } from './terminal.ts';

/** Cursor to the upper left corner, and the screen cleared from there on. */
const FROM_THE_TOP = '\u001b[H\u001b[2J';

/**
 * Shows what `look` sees again and again, until the command is interrupted: on a terminal in the same place, elsewhere
 * one below the other.
 */
export async function watch(context: Context, seconds: number, look: () => Promise<string[]>): Promise<never> {
  const { terminal, signal } = context;
  for (;;) {
    const lines = await look();
    const screen = terminal.stdout.isTTY ? FROM_THE_TOP : '';
    await write(terminal.stdout, `${screen}${lines.join('\n')}\n`);
    await SURROUNDINGS.sleep(seconds * 1_000, signal);
  }
}
