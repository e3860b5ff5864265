import { RIGHTS_MAX } from '../domain/access-limits.ts';
import { NAME_CHARS_MAX, TARGET_URL_CHARS_MAX } from '../domain/limits.ts';
import { RIGHTS, type Rights } from '../domain/rights.ts';
import { choice, invalid, list, object, type Read, text } from './group-fields.ts';

/** A kind, a colon, an address. */
const TARGET_CHARS_MAX = 'eventBridge:'.length + TARGET_URL_CHARS_MAX;

const namePattern: Read<string> = (value, field) => {
  if (typeof value === 'string' && value.length <= NAME_CHARS_MAX && /^[A-Za-z0-9._*-]+$/.test(value)) return value;
  throw invalid(
    field,
    `must be 1 to ${NAME_CHARS_MAX} characters out of A-Z a-z 0-9 . _ - and *, which stands for any`,
  );
};
const targetPattern: Read<string> = (value, field) => {
  const pattern = text(TARGET_CHARS_MAX, 1)(value, field);
  if (/^(?:\*|(?:lambda|http|sqs|eventBridge):)/.test(pattern)) return pattern;
  throw invalid(field, "must be a target's kind and address, such as 'lambda:*' or 'http:https://example.com/*'");
};

const ALLOW = list(choice(...RIGHTS), RIGHTS.length, String, 1);
const ENTRY = object(['topics', 'groups', 'targets', 'allow'], (fields): Rights => {
  const topics = fields.optional('topics', namePattern);
  const groups = fields.optional('groups', namePattern);
  const targets = fields.optional('targets', targetPattern);
  return {
    ...(topics !== undefined && { topics }),
    ...(groups !== undefined && { groups }),
    ...(targets !== undefined && { targets }),
    allow: fields.required('allow', ALLOW),
  };
});
const entry: Read<Rights> = (value, field) => {
  const rights = ENTRY(value, field);
  if (rights.topics !== undefined || rights.groups !== undefined) return rights;
  throw invalid(field, "must say over what: 'topics', 'groups' or both");
};

/** A list of entries, each with a pattern at least and a right at least; see `docs/auth.md`. */
export const rightsList: Read<Rights[]> = list(entry, RIGHTS_MAX, (rights) => JSON.stringify(rights), 1);
