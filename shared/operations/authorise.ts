import type { AccessSettings, Identity, Need } from '../domain/access.ts';
import { Forbidden, Unauthenticated } from '../domain/access-errors.ts';
import { ACCESS_REFUSAL_COPY_MS } from '../domain/access-limits.ts';
import type { ApiKey } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { type Principal, principalOfArn, principalOfSubject } from '../domain/principal.ts';
import { ANYBODY, type Caller, demand, type Rights } from '../domain/rights.ts';
import { AccessCopies, type Copy } from './access-copies.ts';

export interface AccessPorts {
  readonly clock: Clock;
  readonly apiKeys: { read(id: string, consistent: boolean): Promise<ApiKey | undefined> };
  readonly grants: { of(principal: Principal, consistent: boolean): Promise<readonly Rights[]> };
}

/** A caller, and how to look at it anew; absent: nothing newer is to be known. */
interface Known {
  readonly caller: Caller;
  readonly again?: () => Promise<Caller>;
}

/** Knows callers, and remembers for a while what they may do. */
export class Access {
  readonly #clock: Clock;
  readonly #keys: AccessCopies<ApiKey>;
  readonly #grants: AccessCopies<readonly Rights[]>;

  constructor({ clock, apiKeys, grants }: AccessPorts) {
    this.#clock = clock;
    this.#keys = new AccessCopies((id, consistent) => apiKeys.read(id, consistent), clock);
    this.#grants = new AccessCopies((principal, consistent) => grants.of(principal, consistent), clock);
  }

  /**
   * Lets a request in. Every request of the API passes here, and nothing of it is done before.
   *
   * @returns who calls @throws {Unauthenticated | Forbidden | Throttled | Unavailable}
   */
  async authorise(settings: AccessSettings, identity: Identity, need: Need): Promise<Caller> {
    if (settings.auth === 'none' || need.isOpen) return ANYBODY;
    const { caller, again } = await this.#know(settings, identity, need);
    if (caller.rights === 'every') return caller;
    try {
      return judged(caller, need);
    } catch (error) {
      if (!(error instanceof Forbidden) || again === undefined) throw error;
      return judged(await again(), need);
    }
  }

  /** Forgets a key that was revoked. */
  forget(keyId: string): void {
    this.#keys.drop(keyId);
  }

  async #know({ auth, storedGrants }: AccessSettings, identity: Identity, need: Need): Promise<Known> {
    const { userArn, subject, shown } = identity;
    const signer = userArn === undefined ? undefined : principalOfArn(userArn);
    if (auth === 'iam' && !storedGrants) return { caller: { ...ANYBODY, ...(signer && { principal: signer }) } };
    if (auth === 'iam')
      return this.#granted(signer ?? refuse('The request is signed by nobody whom IAM knows by name'));
    if (need.isSigned && signer !== undefined) return { caller: { principal: signer, rights: 'every' } };
    if (auth === 'apiKey') return this.#keyed(shown);
    const known = subject === undefined ? undefined : principalOfSubject(subject);
    return this.#granted(
      known ?? refuse('The token names no subject (claim sub) in 1 to 255 printable ASCII characters'),
    );
  }

  async #granted(principal: Principal): Promise<Known> {
    const callerOf = (copy: Copy<readonly Rights[]> | undefined) => ({ principal, rights: copy?.value ?? [] });
    const copy = await this.#grants.get(principal);
    return {
      caller: callerOf(copy),
      ...(this.#mayBeOld(copy) && { again: async () => callerOf(await this.#grants.fresh(principal)) }),
    };
  }

  async #keyed(shown: Identity['shown']): Promise<Known> {
    if (shown === undefined) refuse("This API is called with an API key: 'Authorization: Bearer <key>'");
    if (shown === 'malformed') refuse("What 'Authorization' holds is no API key of this backbone");
    const callerOf = (copy: Copy<ApiKey> | undefined): Caller => {
      if (copy === undefined || !shown.hasHash(copy.value.hash)) refuse('The API key is unknown, or was revoked');
      const { id, rights, expiresAt = Number.POSITIVE_INFINITY } = copy.value;
      if (this.#clock.now() >= expiresAt) refuse('The API key has expired');
      return { principal: `key:${id}`, rights };
    };
    const copy = await this.#keys.get(shown.id);
    return {
      caller: callerOf(copy),
      ...(this.#mayBeOld(copy) && { again: async () => callerOf(await this.#keys.fresh(shown.id)) }),
    };
  }

  #mayBeOld(copy: Copy<unknown> | undefined): boolean {
    return copy !== undefined && !(copy.isStrong && this.#keys.isYounger(copy as never, ACCESS_REFUSAL_COPY_MS));
  }
}

function judged(caller: Caller, need: Need): Caller {
  for (const { right, used } of need.demands()) demand(caller, right, used);
  return caller;
}

function refuse(detail: string): never {
  throw new Unauthenticated(detail);
}
