import type { Exchange } from './gateway.ts';

/** Fields of a structured log line that say nothing on a laptop, or stand in the sentence already. */
const LEFT_OUT = new Set([
  ...['level', 'message', 'timestamp', 'service', 'error', 'sampling_rate', 'xray_trace_id', 'cold_start'],
  ...['function_arn', 'function_memory_size', 'function_name', 'function_request_id'],
]);

/**
 * A line that a function logged, for a person to read: level, message, the error with its stack, and what else it says.
 * @returns null for a metric, which is for CloudWatch alone. A line that is no structured log line stays as it is.
 */
export function readableLogLine(line: string): string | null {
  const entry = parse(line);
  if (!entry) return line;
  if ('_aws' in entry) return null;
  if (typeof entry.level !== 'string') return line;
  const rest = Object.entries(entry).filter(([name]) => !LEFT_OUT.has(name));
  const facts = rest.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const sentence = [entry.level.toLowerCase(), String(entry.message), ...facts].join('  ');
  const error = entry.error as { stack?: unknown; name?: unknown; message?: unknown } | undefined;
  if (!error) return sentence;
  return `${sentence}\n${typeof error.stack === 'string' ? error.stack : `${error.name}: ${error.message}`}`;
}

/**
 * A line about a request that failed on this side, with what the gateway knows of the reason.
 * @returns null for all others: what is wrong with a request is the caller's to see.
 */
export function describeFailure({ event, answer, error }: Exchange): string | null {
  if (answer.statusCode < 500) return null;
  const { requestId, routeKey } = event.requestContext;
  const sentence = `${answer.statusCode}  ${routeKey}  requestId=${requestId}`;
  return error instanceof Error ? `${sentence}\n${error.stack}` : sentence;
}

function parse(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
}
