import { VertebraError } from '../client/index.ts';

/** How a command ended, for scripts. Codes are added, never renumbered. */
export const EXIT = {
  done: 0,
  failed: 1,
  /** Wrong options or arguments, here or in the API's eyes. */
  usage: 2,
  notFound: 3,
  notAllowed: 4,
  /** What was asked does not fit the state of things: a group has live members, partitions would become fewer. */
  conflict: 5,
  /** The endpoint could not be reached, or did not answer in time. */
  away: 6,
  /** A line of the input is no record. */
  badInput: 7,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Something that a user called for and cannot have, told in one sentence. */
export class CommandFailure extends Error {
  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.failed,
  ) {
    super(message);
    this.name = 'CommandFailure';
  }
}

const BY_STATUS: Readonly<Record<number, ExitCode>> = {
  400: EXIT.usage,
  401: EXIT.notAllowed,
  403: EXIT.notAllowed,
  404: EXIT.notFound,
  409: EXIT.conflict,
  416: EXIT.usage,
  429: EXIT.away,
  502: EXIT.away,
  503: EXIT.away,
  504: EXIT.away,
};
const BY_CODE: Readonly<Record<string, ExitCode>> = {
  invalid_options: EXIT.usage,
  topic_replaced: EXIT.notFound,
  connection_failed: EXIT.away,
  request_timeout: EXIT.away,
  delivery_timeout: EXIT.away,
};
/** Errors that tell of others: what they were caused by says more. */
const OUTER = ['delivery_timeout'];

/** @returns `undefined` for what no caller can be blamed for: a bug */
export function exitCodeOf(error: unknown): ExitCode | undefined {
  if (error instanceof CommandFailure) return error.exitCode;
  if (isWithoutCredentials(error)) return EXIT.notAllowed;
  if (!(error instanceof VertebraError)) return undefined;
  const inner = OUTER.includes(error.code) ? exitCodeOf(error.cause) : undefined;
  const status = 'status' in error ? BY_STATUS[error.status as number] : undefined;
  return inner ?? status ?? BY_CODE[error.code] ?? EXIT.failed;
}

/** What AWS's provider chain throws, as a request or the cause of one. */
function isWithoutCredentials(error: unknown): boolean {
  return error instanceof Error && (error.name === 'CredentialsProviderError' || isWithoutCredentials(error.cause));
}
