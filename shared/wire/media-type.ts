/** A media type without its parameters, and the charset that it names. */
export interface MediaType {
  /** `type/subtype` in lower case. */
  readonly essence: string;
  /** In lower case, without quotes; absent when none is given. */
  readonly charset?: string;
}

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';
export const NDJSON_TYPE = 'application/x-ndjson';
/** One Kafka record batch v2 as it is stored, or several, one after the other. */
export const RECORD_BATCH_TYPE = 'application/vnd.kafka.recordbatch';

/** One CloudEvent in the JSON format, and several. */
export const CLOUD_EVENT_TYPE = 'application/cloudevents+json';
export const CLOUD_EVENTS_BATCH_TYPE = 'application/cloudevents-batch+json';

/** Splits a `Content-Type`. Case and parameters do not matter for matching (RFC 9110 §8.3.1). */
export function parseMediaType(text: string): MediaType {
  const [essence, ...parameters] = text.split(';');
  for (const parameter of parameters) {
    const [name, value = ''] = parameter.split('=');
    if (name!.trim().toLowerCase() !== 'charset') continue;
    return {
      essence: essence!.trim().toLowerCase(),
      charset: value
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .toLowerCase(),
    };
  }
  return { essence: essence!.trim().toLowerCase() };
}

/** JSON itself or a type of its own that is written in JSON (RFC 6839 §3.1). */
export function isJsonType(essence: string): boolean {
  return essence === JSON_TYPE || /^application\/[^/]+\+json$/.test(essence);
}

/**
 * How much a client wants something, by a header of weighted choices such as `Accept` or `Accept-Encoding`
 * (RFC 9110 §12.4.2). @returns 0 (not at all, or not named) to 1
 */
export function weightOf(header: string | undefined, wanted: string): number {
  if (header === undefined) return 0;
  for (const choice of header.toLowerCase().split(',')) {
    const [name, ...parameters] = choice.split(';').map((part) => part.trim());
    if (name !== wanted) continue;
    const weight = Number(parameters.find((parameter) => /^q=/.test(parameter))?.slice(2) ?? 1);
    return weight >= 0 && weight <= 1 ? weight : 0;
  }
  return 0;
}
