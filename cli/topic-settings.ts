import type { Command } from 'commander';
import type { MaxLag, Quota, TopicSettings } from '../client/index.ts';
import { retention, wholeNumber } from './arguments.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';

/** What the options of a topic's settings come to. */
export interface SettingOptions {
  readonly partitions?: number;
  readonly retention?: number;
  readonly quotaBytes?: number;
  readonly quotaRecords?: number;
  readonly callerQuotaBytes?: number;
  readonly callerQuotaRecords?: number;
  /** false: `--no-quota`. */
  readonly quota?: boolean;
  /** false: `--no-max-lag`. */
  readonly maxLag?: number | false;
  readonly maxLagGroups?: readonly string[];
}

export function addSettings(
  command: Command,
  { partitions, retention: kept } = { partitions: '', retention: '' },
): Command {
  return command
    .option('--partitions <number>', `how many, 1 to 1024${partitions}`, wholeNumber(1))
    .option('--retention <time>', `how long records stay, such as 12h or 30d, or forever${kept}`, retention)
    .option('--quota-bytes <number>', 'bytes that may be appended in a second', wholeNumber(1))
    .option('--quota-records <number>', 'records that may be appended in a second', wholeNumber(1))
    .option('--caller-quota-bytes <number>', 'the same for each caller', wholeNumber(1))
    .option('--caller-quota-records <number>', 'the same for each caller', wholeNumber(1))
    .option('--max-lag <records>', 'appends wait while a group is further behind', wholeNumber(1))
    .option('--max-lag-groups <names>', 'which groups, with commas', (text) => text.split(','));
}

/** Settings that are given. A quota is given as a whole: what is not named of it is not limited. @throws {CommandFailure} */
export function settingsOf(options: SettingOptions): Omit<TopicSettings, 'topic'> {
  const { partitions: numPartitions, retention: retentionMs } = options;
  const quota = quotaOf(options);
  const maxLag = maxLagOf(options);
  return {
    ...(numPartitions !== undefined && { numPartitions }),
    ...(retentionMs !== undefined && { retentionMs }),
    ...(quota !== undefined && { quota }),
    ...(maxLag !== undefined && { maxLag }),
  };
}

function quotaOf(options: SettingOptions): Quota | null | undefined {
  const rates = ratesOf(options.quotaBytes, options.quotaRecords);
  const perCaller = ratesOf(options.callerQuotaBytes, options.callerQuotaRecords);
  if (rates !== undefined || perCaller !== undefined) return { ...rates, ...(perCaller && { perCaller }) };
  return options.quota === false ? null : undefined;
}

function ratesOf(bytesPerSecond: number | undefined, recordsPerSecond: number | undefined) {
  if (bytesPerSecond === undefined && recordsPerSecond === undefined) return undefined;
  return {
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
    ...(recordsPerSecond !== undefined && { recordsPerSecond }),
  };
}

function maxLagOf({ maxLag: records, maxLagGroups: groups }: SettingOptions): MaxLag | null | undefined {
  if (records === false) return null;
  if (records !== undefined && groups !== undefined) return { groups, records };
  if (records === undefined && groups === undefined) return undefined;
  throw new CommandFailure('--max-lag and --max-lag-groups go together', EXIT.usage);
}

/** What holds appends back, in words; empty: nothing does. */
export function limitsText({ quota, maxLag }: { readonly quota?: Quota; readonly maxLag?: MaxLag }): string {
  const { perCaller, ...rates } = quota ?? {};
  const parts = [
    ...ratesText(rates).map((rate) => `at most ${rate}`),
    ...ratesText(perCaller ?? {}).map((rate) => `at most ${rate} of each caller`),
    ...(maxLag ? [`waits for ${maxLag.groups.join(', ')} when more than ${maxLag.records} records behind`] : []),
  ];
  return parts.map((part) => `, ${part}`).join('');
}

function ratesText({ bytesPerSecond, recordsPerSecond }: { bytesPerSecond?: number; recordsPerSecond?: number }) {
  return [
    ...(bytesPerSecond === undefined ? [] : [`${bytesPerSecond} bytes/s`]),
    ...(recordsPerSecond === undefined ? [] : [`${recordsPerSecond} records/s`]),
  ];
}
