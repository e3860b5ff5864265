import { Forbidden } from './access-errors.ts';
import type { Principal } from './principal.ts';
import type { TargetSpec } from './target-spec.ts';

/** What may be done. None of them includes another. */
export const RIGHTS = ['produce', 'consume', 'subscribe', 'admin'] as const;
export type Right = (typeof RIGHTS)[number];

/**
 * What somebody may do, and with what: one entry of a grant. A pattern is a name in which `*` stands for any characters,
 * none included. What has no pattern is not meant: without `groups`, no group.
 */
export interface Rights {
  readonly topics?: string;
  /** Of consumer groups, and of subscriptions: they share their names. */
  readonly groups?: string;
  /** As `targetName` writes them. */
  readonly targets?: string;
  readonly allow: readonly Right[];
}

/** What is used together: a topic by a group, or pushed to a target. */
export interface Used {
  readonly topic?: string;
  readonly group?: string;
  readonly target?: string;
}

/** Who calls, and what it may do. */
export interface Caller {
  readonly principal: Principal;
  /** `every`: whoever gets through to the API may do everything. */
  readonly rights: readonly Rights[] | 'every';
}

/** Where nobody asks who calls. */
export const ANYBODY: Caller = { principal: 'anybody', rights: 'every' };

/** Everything there is, and will be: what only patterns of nothing but `*` match. */
export const EVERYTHING: Used = { topic: '*', group: '*', target: '*' };

/**
 * Whether one entry allows it for all that is used together. Two entries are not added up: who may read `a` as group `x`, and
 * `b` as group `y`, may not read `a` as `y`.
 *
 * @param right `any`: it is enough that something is allowed
 */
export function isAllowed({ rights }: Caller, right: Right | 'any', used: Used): boolean {
  if (rights === 'every') return true;
  return rights.some(
    ({ topics, groups, targets, allow }) =>
      (right === 'any' || allow.includes(right)) &&
      covers(topics, used.topic) &&
      covers(groups, used.group) &&
      covers(targets, used.target),
  );
}

/** @throws {Forbidden} naming what is not allowed with what */
export function demand(caller: Caller, right: Right | 'any', used: Used): void {
  if (!isAllowed(caller, right, used)) throw new Forbidden(caller.principal, right, used);
}

function covers(pattern: string | undefined, name: string | undefined): boolean {
  return name === undefined || (pattern !== undefined && matches(pattern, name));
}

/** Whether a name is one that the pattern means: letter by letter, `*` any of them. Takes time in proportion to both. */
export function matches(pattern: string, name: string): boolean {
  const [first, ...rest] = pattern.split('*') as [string, ...string[]];
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = name.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return name.length - from >= last.length && name.endsWith(last);
}

/**
 * A target as patterns name it: its kind, a colon, its address, such as `lambda:arn:aws:…` or `http:https://example.com/hook`.
 * A URL is written as it is understood, so that no other spelling of a host passes for it.
 */
export function targetName(target: TargetSpec): string {
  if ('lambda' in target) return `lambda:${target.lambda.functionArn}`;
  if ('sqs' in target) return `sqs:${target.sqs.queueUrl}`;
  if ('eventBridge' in target) return `eventBridge:${target.eventBridge.eventBusName}`;
  const { url } = target.http;
  return `http:${URL.canParse(url) ? new URL(url).href : url}`;
}
