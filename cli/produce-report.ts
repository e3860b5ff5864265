import type { Context } from './context.ts';
import type { Delivery } from './delivery.ts';
import { EXIT, type ExitCode, exitCodeOf } from './exit-codes.ts';
import type { BadInput } from './input-lines.ts';
import { thousands } from './table.ts';
import { plain } from './terminal.ts';

/** Why reading ended. */
export interface Stop {
  /** Lines passed over. */
  readonly skipped: number;
  /** The line at which it stopped. */
  readonly bad?: BadInput;
  /** Why there may be more of the input than was read. */
  readonly unreadable?: Error;
}

/** Tells what was delivered and what was not. @returns the exit code that says so */
export async function report(context: Context, delivery: Delivery, stop: Stop, tookMs: number): Promise<ExitCode> {
  const { counts, failure } = delivery;
  if (context.json) {
    const { line, error } = failure ?? {};
    const failed = error && { failure: { line, code: error.code, message: error.message } };
    await context.print(JSON.stringify({ ...counts, skipped: stop.skipped, ...failed, ...stopFacts(stop) }));
  } else for (const sentence of sentences(delivery, stop, tookMs)) context.tell(sentence);
  if (failure) return exitCodeOf(failure.error) ?? EXIT.failed;
  if (stop.unreadable) return EXIT.failed;
  return stop.bad ? EXIT.badInput : EXIT.done;
}

function stopFacts({ bad, unreadable }: Stop): object {
  if (unreadable) return { unreadable: unreadable.message };
  return bad ? { badInput: { line: bad.line, fault: bad.fault } } : {};
}

function sentences({ counts, failure }: Delivery, { skipped, bad, unreadable }: Stop, tookMs: number): string[] {
  const { delivered, failed, unknown } = counts;
  const rate = Math.round((delivered * 1_000) / Math.max(1, tookMs));
  const told = [
    `${thousands(delivered)} ${delivered === 1 ? 'record' : 'records'} delivered in ${seconds(tookMs)} ` +
      `(${thousands(rate)} records/s)${skipped > 0 ? `, ${thousands(skipped)} ${skipped === 1 ? 'line' : 'lines'} skipped` : ''}`,
  ];
  if (bad) told.push(`vertebra: line ${bad.line}: ${plain(bad.fault)}; nothing from this line on was sent`);
  if (unreadable) told.push(`vertebra: the input cannot be read to its end: ${plain(unreadable.message)}`);
  if (failure) told.push(`vertebra: line ${failure.line}: ${plain(failure.error.message)}`);
  if (failed > 0) told.push(`${thousands(failed)} records that were read are not stored`);
  if (unknown > 0) told.push(`of ${thousands(unknown)} records it is not known whether they are stored`);
  return told;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
