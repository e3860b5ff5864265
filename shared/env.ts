import { INLINE_BATCH_BYTES_MAX, SPILL_ABOVE_BYTES_DEFAULT } from './domain/limits.ts';

/** Names of the environment variables that wire a function to its resources. */
export const ENV = {
  logTable: 'VERTEBRA_LOG_TABLE',
  stateTable: 'VERTEBRA_STATE_TABLE',
  bucket: 'VERTEBRA_BUCKET',
  wakeQueueUrl: 'VERTEBRA_WAKE_QUEUE_URL',
  deadLetterQueueUrl: 'VERTEBRA_DEAD_LETTER_QUEUE_URL',
  spillAboveBytes: 'VERTEBRA_SPILL_ABOVE_BYTES',
  corsOrigins: 'VERTEBRA_CORS_ORIGINS',
} as const;

/** Where the tables are. */
export interface TableEnv {
  readonly logTable: string;
  readonly stateTable: string;
}

/** Where everything is that appending and reading need. */
export interface Env extends TableEnv {
  readonly bucket: string;
  /** Batches larger than this go to the bucket. */
  readonly spillAboveBytes: number;
}

/** @throws {Error} naming each variable that is missing */
export function readTableEnv(variables: NodeJS.ProcessEnv = process.env): TableEnv {
  const { logTable, stateTable } = required(variables, ['logTable', 'stateTable']);
  return { logTable, stateTable };
}

/** Where everything is that must follow when something is removed from the log. */
export interface DispatchEnv extends TableEnv {
  readonly bucket: string;
  readonly wakeQueueUrl: string;
}

/** @throws {Error} naming each variable that is missing */
export function readDispatchEnv(variables: NodeJS.ProcessEnv = process.env): DispatchEnv {
  return required(variables, ['logTable', 'stateTable', 'bucket', 'wakeQueueUrl']);
}

/** Where everything is that consumer groups need. */
export interface GroupsEnv extends Env {
  readonly deadLetterQueueUrl: string;
}

/** @throws {Error} naming each variable that is missing, or what is wrong with one */
export function readGroupsEnv(variables: NodeJS.ProcessEnv = process.env): GroupsEnv {
  return { ...readEnv(variables), ...required(variables, ['deadLetterQueueUrl']) };
}

/** Where everything is that the sweep removes things from. */
export interface SweepEnv extends TableEnv {
  readonly bucket: string;
}

/** @throws {Error} naming each variable that is missing */
export function readSweepEnv(variables: NodeJS.ProcessEnv = process.env): SweepEnv {
  return required(variables, ['logTable', 'stateTable', 'bucket']);
}

/** @throws {Error} naming each variable that is missing, or what is wrong with one */
export function readEnv(variables: NodeJS.ProcessEnv = process.env): Env {
  const { bucket, ...tables } = required(variables, ['logTable', 'stateTable', 'bucket']);
  return { ...tables, bucket, spillAboveBytes: readSpillAbove(variables[ENV.spillAboveBytes]) };
}

function readSpillAbove(text: string | undefined): number {
  if (text === undefined || text === '') return SPILL_ABOVE_BYTES_DEFAULT;
  const bytes = Number(text);
  if (Number.isInteger(bytes) && bytes >= 1 && bytes <= INLINE_BATCH_BYTES_MAX) return bytes;
  throw new Error(
    `${ENV.spillAboveBytes} must be a whole number of bytes from 1 to ${INLINE_BATCH_BYTES_MAX}, not '${text}'`,
  );
}

function required<K extends keyof typeof ENV>(variables: NodeJS.ProcessEnv, keys: readonly K[]): Record<K, string> {
  const missing = keys.map((key) => ENV[key]).filter((name) => !variables[name]);
  if (missing.length > 0) throw new Error(`not configured: ${missing.join(', ')} must be set`);
  return Object.fromEntries(keys.map((key) => [key, variables[ENV[key]]])) as Record<K, string>;
}

/** The origins whose pages may call the API, from a comma-separated list; none when the variable is not set. */
export function readCorsOrigins(variables: NodeJS.ProcessEnv = process.env): string[] {
  return (variables[ENV.corsOrigins] ?? '').split(',').flatMap((origin) => origin.trim() || []);
}
