import { thousands } from './table.ts';
import type { Output } from './terminal.ts';

/** How far a transfer is. */
export interface Progress {
  readonly records: number;
  /** Of the input. */
  readonly bytes: number;
}

/** Tells on standard error how far it is. */
export interface ProgressTeller {
  update(progress: Progress): void;
  /** Leaves nothing behind that would be rewritten. */
  stop(): void;
}

export const NO_PROGRESS: ProgressTeller = { update: () => {}, stop: () => {} };

/** Where lines cannot be rewritten, one comes after this time. */
const LINE_EVERY_MS = 5_000;
/** Updates over which the remaining time is told: some seconds' worth, so that it does not jump. */
const ETA_UPDATES = 300;
/** How often a bar is drawn, per second. */
const DRAWS_PER_S = 10;

/**
 * A bar with rate and remaining time on a terminal (the rate alone, where nobody knows how much there is); elsewhere a
 * plain line now and then.
 * @param totalBytes of the input, where it is known
 * @param now ms, on any monotonic clock
 */
export async function openProgress(
  output: Output,
  totalBytes: number | undefined,
  now: () => number = () => performance.now(),
): Promise<ProgressTeller> {
  const startedAt = now();
  const rateOf = (records: number) => Math.round((records * 1_000) / Math.max(1, now() - startedAt));
  return output.isTTY ? bar(output, totalBytes, rateOf) : lines(output, rateOf, now);
}

async function bar(
  stream: Output,
  totalBytes: number | undefined,
  rateOf: (records: number) => number,
): Promise<ProgressTeller> {
  const { default: cliProgress } = await import('cli-progress'); // only where there is something to draw on
  const counts = '{records} records · {rate} records/s';
  const format = totalBytes === undefined ? counts : `{bar} {percentage} % · ${counts} · ETA {eta_formatted}`;
  const drawn = new cliProgress.SingleBar(
    {
      stream,
      format,
      fps: DRAWS_PER_S,
      etaBuffer: ETA_UPDATES,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
      barsize: 24,
    },
    cliProgress.Presets.shades_classic,
  );
  drawn.start(totalBytes ?? 0, 0, { records: '0', rate: '0' });
  return {
    update({ records, bytes }) {
      drawn.update(Math.min(bytes, totalBytes ?? 0), { records: thousands(records), rate: thousands(rateOf(records)) });
    },
    stop: () => drawn.stop(),
  };
}

function lines(output: Output, rateOf: (records: number) => number, now: () => number): ProgressTeller {
  let toldAt = now();
  return {
    update({ records }) {
      if (now() - toldAt < LINE_EVERY_MS) return;
      toldAt = now();
      output.write(`${thousands(records)} records · ${thousands(rateOf(records))} records/s\n`);
    },
    stop: () => {},
  };
}
