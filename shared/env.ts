import { type AccessSettings, AUTH_MODES } from './domain/access.ts';
import { INLINE_BATCH_BYTES_MAX, SPILL_ABOVE_BYTES_DEFAULT } from './domain/limits.ts';

/** Names of the environment variables that wire a function to its resources. */
export const ENV = {
  logTable: 'VERTEBRA_LOG_TABLE',
  stateTable: 'VERTEBRA_STATE_TABLE',
  bucket: 'VERTEBRA_BUCKET',
  wakeQueueUrl: 'VERTEBRA_WAKE_QUEUE_URL',
  deadLetterQueueUrl: 'VERTEBRA_DEAD_LETTER_QUEUE_URL',
  /** Of the alias of deliver where those are served that may take long. */
  asideArn: 'VERTEBRA_DELIVER_ASIDE_ARN',
  /** Names under which the API is reached: nothing is pushed there. */
  ownHosts: 'VERTEBRA_OWN_HOSTS',
  spillAboveBytes: 'VERTEBRA_SPILL_ABOVE_BYTES',
  corsOrigins: 'VERTEBRA_CORS_ORIGINS',
  checkFunction: 'VERTEBRA_CHECK_FUNCTION',
  deliveryMappings: 'VERTEBRA_DELIVERY_MAPPINGS',
  /** ARN of the role by which records are pushed. */
  role: 'VERTEBRA_PUSH_ROLE',
  /** How the names of the backbone's own functions and queues begin, with commas between. */
  ownNames: 'VERTEBRA_OWN_NAMES',
  /** How callers are known: `none`, `iam`, `apiKey` or `jwt`. */
  auth: 'VERTEBRA_AUTH',
  /** `stored`: whoever IAM lets in may do what it was granted, and no more. */
  grants: 'VERTEBRA_GRANTS',
  /** Of the code that was deployed; nobody but the doctor asks. */
  version: 'VERTEBRA_VERSION',
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
  /** Where deliveries are woken whose dead letters are given back. */
  readonly wakeQueueUrl: string;
}

/** @throws {Error} naming each variable that is missing, or what is wrong with one */
export function readGroupsEnv(variables: NodeJS.ProcessEnv = process.env): GroupsEnv {
  return { ...readEnv(variables), ...required(variables, ['deadLetterQueueUrl', 'wakeQueueUrl']) };
}

/** Where everything is that looking after subscriptions needs. */
export interface SubscriptionsEnv extends TableEnv {
  readonly wakeQueueUrl: string;
  /** Name of the function that looks at targets, by the rights with which they are pushed to. */
  readonly checkFunction: string;
  /** Event sources that are on while there are subscriptions. */
  readonly deliveryMappings: readonly string[];
}

/** @throws {Error} naming each variable that is missing */
export function readSubscriptionsEnv(variables: NodeJS.ProcessEnv = process.env): SubscriptionsEnv {
  const names = ['logTable', 'stateTable', 'wakeQueueUrl', 'checkFunction', 'deliveryMappings'] as const;
  const { deliveryMappings, ...env } = required(variables, names);
  return { ...env, deliveryMappings: listOf(deliveryMappings) };
}

/** Who pushes, and what it never pushes to. */
export interface CheckEnv {
  readonly role: string;
  readonly ownNames: readonly string[];
  readonly ownHosts: readonly string[];
}

/** @throws {Error} naming each variable that is missing */
export function readCheckEnv(variables: NodeJS.ProcessEnv = process.env): CheckEnv {
  const { role, ownNames } = required(variables, ['role', 'ownNames']);
  return { role, ownNames: listOf(ownNames), ownHosts: listOf(variables[ENV.ownHosts]) };
}

/** Where wake-ups are sent. */
export function readWakeEnv(variables: NodeJS.ProcessEnv = process.env): { readonly wakeQueueUrl: string } {
  return required(variables, ['wakeQueueUrl']);
}

/** Where everything is that deliveries need. */
export interface DeliverEnv extends GroupsEnv {
  /** Absent: this is the function where those are served that may take long. */
  readonly asideArn?: string;
  readonly ownHosts: readonly string[];
}

/** @throws {Error} naming each variable that is missing, or what is wrong with one */
export function readDeliverEnv(variables: NodeJS.ProcessEnv = process.env): DeliverEnv {
  const asideArn = variables[ENV.asideArn];
  return {
    ...readGroupsEnv(variables),
    ...(asideArn && { asideArn }),
    ownHosts: listOf(variables[ENV.ownHosts]),
  };
}

/** Where everything is that the sweep removes things from, and who is woken. */
export interface SweepEnv extends TableEnv {
  readonly bucket: string;
  readonly wakeQueueUrl: string;
  /** Event sources that are on while there are subscriptions, or something is left to be followed. */
  readonly deliveryMappings: readonly string[];
}

/** @throws {Error} naming each variable that is missing */
export function readSweepEnv(variables: NodeJS.ProcessEnv = process.env): SweepEnv {
  const names = ['logTable', 'stateTable', 'bucket', 'wakeQueueUrl', 'deliveryMappings'] as const;
  const { deliveryMappings, ...env } = required(variables, names);
  return { ...env, deliveryMappings: listOf(deliveryMappings) };
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

/** How callers are known: not at all when nothing is said. @throws {Error} naming the variable that is wrong */
export function readAccess(variables: NodeJS.ProcessEnv = process.env): AccessSettings {
  const [auth = 'none', grants = ''] = [variables[ENV.auth] || undefined, variables[ENV.grants]];
  const mode = AUTH_MODES.find((known) => known === auth);
  if (mode === undefined) throw new Error(`${ENV.auth} must be one of ${AUTH_MODES.join(', ')}, not '${auth}'`);
  if (grants !== '' && grants !== 'stored')
    throw new Error(`${ENV.grants} must be 'stored' or nothing, not '${grants}'`);
  return { auth: mode, storedGrants: grants === 'stored' };
}

/** The origins whose pages may call the API, from a comma-separated list; none when the variable is not set. */
export function readCorsOrigins(variables: NodeJS.ProcessEnv = process.env): string[] {
  return listOf(variables[ENV.corsOrigins]);
}

function listOf(text = ''): string[] {
  return text.split(',').flatMap((part) => part.trim() || []);
}
