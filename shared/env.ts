/** Names of the environment variables that wire a function to its resources. */
export const ENV = {
  logTable: 'VERTEBRA_LOG_TABLE',
  stateTable: 'VERTEBRA_STATE_TABLE',
  bucket: 'VERTEBRA_BUCKET',
  wakeQueueUrl: 'VERTEBRA_WAKE_QUEUE_URL',
  deadLetterQueueUrl: 'VERTEBRA_DEAD_LETTER_QUEUE_URL',
  corsOrigins: 'VERTEBRA_CORS_ORIGINS',
} as const;

/** What a function needs to know about the stack it runs in. */
export interface Env {
  readonly logTable: string;
  readonly stateTable: string;
}

/** Reads the variables that every function needs. @throws {Error} naming each one that is missing. */
export function readEnv(variables: NodeJS.ProcessEnv = process.env): Env {
  const missing = [ENV.logTable, ENV.stateTable].filter((name) => !variables[name]);
  if (missing.length > 0) throw new Error(`not configured: ${missing.join(', ')} must be set`);
  return { logTable: variables[ENV.logTable]!, stateTable: variables[ENV.stateTable]! };
}

/** The origins whose pages may call the API, from a comma-separated list; none when the variable is not set. */
export function readCorsOrigins(variables: NodeJS.ProcessEnv = process.env): string[] {
  return (variables[ENV.corsOrigins] ?? '').split(',').flatMap((origin) => origin.trim() || []);
}
