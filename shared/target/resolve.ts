import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { parseAddress } from '../domain/address.ts';
import { TargetNotAllowed } from '../domain/target-errors.ts';
import { checkAddressText, parseTargetUrl, type TargetUrl, type UrlRules } from '../domain/target-url.ts';

/** All addresses of a name, at least one. @throws when it has none, or nobody knows */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** As the system resolves names: from its hosts file too, as a connection would. */
export const resolveBySystem: Resolve = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);

/**
 * Whether a target may be subscribed: by its URL, and by all addresses that its name has now. They are looked at again
 * whenever it is connected to.
 * @throws {TargetNotAllowed}
 */
export async function checkTarget(text: string, rules: UrlRules, resolve: Resolve = resolveBySystem): Promise<void> {
  const target = parseTargetUrl(text, rules);
  await checkedAddresses(target, resolve).catch((error: unknown) => {
    if (error instanceof TargetNotAllowed) throw error;
    throw new TargetNotAllowed(`${target.host} cannot be resolved`);
  });
}

/**
 * What a connection looks the target's name up with: it gets addresses that were checked, and no chance to look again.
 * An address in place of a name is not looked up: `parseTargetUrl` has checked it.
 */
export function pinnedLookup(target: TargetUrl, resolve: Resolve): LookupFunction {
  return (_host, { all }, callback) => {
    checkedAddresses(target, resolve).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: familyOf(address) }));
        if (all) callback(null, found);
        else callback(null, found[0]!.address, found[0]!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

/** @throws {TargetNotAllowed} when only one of them is not allowed: which one a connection takes is chance */
async function checkedAddresses(target: TargetUrl, resolve: Resolve): Promise<readonly string[]> {
  const addresses = parseAddress(target.host) === undefined ? await resolve(target.host) : [target.host];
  if (addresses.length === 0) throw new Error(`${target.host} has no address`);
  for (const address of addresses) checkAddressText(target, address);
  return addresses;
}

function familyOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}
