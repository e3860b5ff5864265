import { isIP } from 'node:net';

/** Names that no website can have: RFC 6761 §6.3 reserves the first two, ICANN the last one for private networks. */
const NOBODYS = /(?:^|\.)localhost$|\.internal$/;

/**
 * Whether a request's `Host` may lead to this server. A hostile site can let a name of its own resolve to loopback (DNS
 * rebinding); to a browser its page and this server are then one origin, and no CORS rule keeps the page from reading.
 * A deployed gateway refuses the names of others, too.
 *
 * @param host name or address, and perhaps a port; only what is no browser leaves it out
 */
export function leadsHere(host: string | undefined): boolean {
  if (host === undefined) return true;
  const name = host
    .toLowerCase()
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
  return isIP(name) !== 0 || NOBODYS.test(name);
}
