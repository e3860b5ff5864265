import { type Conditions, coversAction, like, listOf, meets, type Right, type Statement } from './policy.ts';

/** Who calls a service. */
export interface Caller {
  /** ARN of the role; undefined: whoever runs the assembly, who may do everything. */
  readonly role: string | undefined;
  /** Name of the function; empty for who is none. */
  readonly function: string;
}

/** One action on one resource that a role's policies allow. */
export interface Grant {
  readonly role: string;
  readonly action: string;
  readonly resource: string;
  readonly conditions?: Conditions;
  /** Functions that it allowed something. */
  readonly usedBy: ReadonlySet<string>;
  /** Whether some call was allowed by this one alone. */
  readonly needed: boolean;
}

/** A call that no policy allowed. */
export interface Denial {
  readonly caller: Caller;
  readonly right: Right;
}

interface NotedGrant extends Grant {
  readonly usedBy: Set<string>;
  needed: boolean;
}

/** Denials that are kept to be looked at. */
const DENIALS_MAX = 1_000;

/**
 * The policies of a template, and what became of them: every call is judged as IAM would judge it within one account, and
 * noted. Permission boundaries, session policies and those of organisations do not occur in templates of this project.
 */
export class Access {
  readonly #grants: NotedGrant[] = [];
  readonly #denies = new Map<string, Statement[]>();
  readonly #ofResources = new Map<string, Statement[]>();
  readonly #denials: Denial[] = [];

  /** Adds a policy of a role. */
  addPolicy(role: string, statements: readonly Statement[]): void {
    for (const statement of statements) {
      if (statement.Effect === 'Deny') append(this.#denies, role, statement);
      else {
        for (const action of listOf(statement.Action)) {
          for (const resource of listOf(statement.Resource)) {
            const { Condition: conditions } = statement;
            const usedBy = new Set<string>();
            this.#grants.push({ role, action, resource, ...(conditions && { conditions }), usedBy, needed: false });
          }
        }
      }
    }
  }

  /** Adds the policy of a resource: a queue's, a bucket's, a function's. */
  addResourcePolicy(resource: string, statements: readonly Statement[]): void {
    for (const statement of statements) append(this.#ofResources, resource, statement);
  }

  /** Judges a call, and notes it. */
  allows(caller: Caller, right: Right): boolean {
    if (caller.role === undefined) return true;
    const allowed = this.#judge(caller, caller.role, right);
    if (!allowed && this.#denials.length < DENIALS_MAX) this.#denials.push({ caller, right });
    return allowed;
  }

  /** Whether a service of AWS may act on a resource for something of the account's, by the resource's own policy. */
  allowsService(service: string, right: Right): boolean {
    return this.#resourcePolicy(right, (principal) => principal !== '*' && listOf(principal.Service).includes(service))
      .allow;
  }

  /** Everything that is granted, in the order of the template. */
  get grants(): readonly Grant[] {
    return this.#grants;
  }

  /** What was called and refused, oldest first. */
  get denials(): readonly Denial[] {
    return this.#denials;
  }

  #judge({ function: name }: Caller, role: string, right: Right): boolean {
    const matching = this.#grants.filter(
      (grant) =>
        grant.role === role &&
        coversAction(grant.action, right.action) &&
        like(right.resource, grant.resource) &&
        meets(grant.conditions, right.facts),
    );
    const ofResource = this.#resourcePolicy(right, (principal) => isMeant(principal, role));
    const denied =
      ofResource.deny || (this.#denies.get(role) ?? []).some((statement) => covers(statement, right, right.resource));
    if (denied) return false;
    for (const grant of matching) grant.usedBy.add(name);
    if (matching.length === 1) matching[0]!.needed = true;
    return matching.length > 0 || ofResource.allow;
  }

  #resourcePolicy(right: Right, isFor: (principal: NonNullable<Statement['Principal']>) => boolean) {
    const verdict = { allow: false, deny: false };
    for (const [resource, statements] of this.#ofResources) {
      if (!isWithin(right.resource, resource)) continue;
      for (const statement of statements) {
        if (!isFor(statement.Principal ?? '*') || !covers(statement, right, resource)) continue;
        verdict[statement.Effect === 'Deny' ? 'deny' : 'allow'] = true;
      }
    }
    return verdict;
  }
}

function covers(statement: Statement, { action, resource, facts }: Right, own: string): boolean {
  const resources = statement.Resource === undefined ? [own] : listOf(statement.Resource);
  return (
    listOf(statement.Action).some((pattern) => coversAction(pattern, action)) &&
    resources.some((pattern) => like(resource, pattern)) &&
    meets(statement.Condition, facts)
  );
}

function isMeant(principal: NonNullable<Statement['Principal']>, role: string): boolean {
  // An account stands for those of its principals whose own policies allow it: they are asked anyway.
  return principal === '*' || listOf(principal.AWS).some((each) => each === '*' || each === role);
}

/** Objects lie within their bucket, versions and aliases within their function. */
function isWithin(resource: string, whole: string): boolean {
  return resource === whole || resource.startsWith(`${whole}/`) || resource.startsWith(`${whole}:`);
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
