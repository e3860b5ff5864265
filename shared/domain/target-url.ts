import { type Address, inBlock, isPublicAddress, parseAddress, parseBlock } from './address.ts';
import { TARGET_URL_CHARS_MAX } from './limits.ts';
import { TargetNotAllowed } from './target-errors.ts';

/** Where HTTP targets may be. */
export interface UrlRules {
  /** Plain HTTP to this machine is allowed, and only there: nothing of it is anybody else's. */
  readonly loopback: boolean;
  /** Names under which the backbone itself is reached: what it pushes to itself it would push again. */
  readonly ownHosts: readonly string[];
}

/** A URL that the rules allow, as far as its text tells. */
export interface TargetUrl {
  readonly url: URL;
  /** A name, or an address without brackets. */
  readonly host: string;
  /** It is of this machine: so must be every address of its name. Else each must be public. */
  readonly loopback: boolean;
}

/** Ports of web servers; others below `PORT_MIN` belong to protocols that a crafted request could speak. */
const WEB_PORTS = [80, 443];
const PORT_MIN = 1_024;
/** Loopback as it may be written: other spellings of the same address are not meant for eyes. */
const LOOPBACK_URL = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?(?:[/?#]|$)/i;
const LOOPBACK = ['127.0.0.0/8', '::1/128'].map((text) => parseBlock(text)!);

/** @throws {TargetNotAllowed} saying which rule the URL breaks */
export function parseTargetUrl(text: string, rules: UrlRules): TargetUrl {
  if (text.length > TARGET_URL_CHARS_MAX) refuse(`its URL is longer than ${TARGET_URL_CHARS_MAX} characters`);
  const url = URL.canParse(text) ? new URL(text) : refuse('its URL cannot be read');
  const loopback = rules.loopback && LOOPBACK_URL.test(text);
  if (url.protocol !== 'https:' && !loopback) {
    refuse(
      rules.loopback ? 'its URL must be https, or http to 127.0.0.1, [::1] or localhost' : 'its URL must be https',
    );
  }
  if (url.username !== '' || url.password !== '') refuse('its URL must not name a user');
  const port = Number(url.port);
  if (url.port !== '' && port < PORT_MIN && !WEB_PORTS.includes(port))
    refuse(`port ${port} is not one of ${WEB_PORTS.join(', ')} or ${PORT_MIN} and above`);
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (rules.ownHosts.some((own) => sameHost(own, host))) refuse(`${host} is the backbone itself`);
  const address = parseAddress(host);
  const target = { url, host, loopback };
  if (address !== undefined) checkAddress(target, host, address);
  return target;
}

/**
 * Whether the target may be at this address, which its name stands for.
 * @throws {TargetNotAllowed} when not, or when the text is no address
 */
export function checkAddressText(target: TargetUrl, text: string): void {
  checkAddress(target, text, parseAddress(text) ?? refuse(`${target.host} has no address that can be read`));
}

function checkAddress({ host, loopback }: TargetUrl, text: string, address: Address): void {
  const allowed = loopback ? LOOPBACK.some((block) => inBlock(address, block)) : isPublicAddress(address);
  if (!allowed) refuse(`${host}${text === host ? '' : ` is ${text}, which`} is not a public address`);
}

function sameHost(one: string, other: string): boolean {
  return one.toLowerCase().replace(/\.$/, '') === other.toLowerCase().replace(/\.$/, '');
}

function refuse(reason: string): never {
  throw new TargetNotAllowed(reason);
}
