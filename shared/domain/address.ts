/** An IP address as its bytes: 4 of IPv4, 16 of IPv6. */
export type Address = readonly number[];

/** A block of addresses: those that share the first `bits` bits. */
export interface AddressBlock {
  readonly base: Address;
  readonly bits: number;
}

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const IPV6_GROUP = /^[0-9a-f]{1,4}$/i;
const IPV6_GROUPS = 8;

/**
 * The address that a text spells: dotted decimal without leading zeros, or IPv6 as in RFC 4291, §2.2.
 * @returns undefined when it spells none
 */
export function parseAddress(text: string): Address | undefined {
  return text.includes(':') ? parseIPv6(text) : parseIPv4(text);
}

/** The block that a text in CIDR notation spells; bits behind the prefix do not matter. @returns undefined for none */
export function parseBlock(text: string): AddressBlock | undefined {
  const [, address = '', length = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const base = parseAddress(address);
  const bits = Number(length);
  return base !== undefined && bits <= base.length * 8 ? { base, bits } : undefined;
}

/** Whether the address lies in the block. IPv4 addresses are in IPv4 blocks alone, and so for IPv6. */
export function inBlock(address: Address, { base, bits }: AddressBlock): boolean {
  if (address.length !== base.length) return false;
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== base[i]) return false;
  const rest = 8 - (bits & 7);
  return rest === 8 || address[whole]! >> rest === base[whole]! >> rest;
}

/**
 * IPv4 addresses that are nobody's on the Internet, or not one host's. Source: IANA, "IPv4 Special-Purpose Address
 * Registry", and multicast (RFC 5771). 192.88.99.0/24 leads to IPv6 relays (RFC 7526).
 */
const NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
].map((text) => parseBlock(text)!);
/**
 * All that was ever given out of IPv6: private, link-local, multicast, loopback, mapped and translated (64:ff9b::/96)
 * addresses lie outside. Source: IANA, "IPv6 Address Space".
 */
const IPV6_UNICAST = parseBlock('2000::/3')!;
/** Parts of it that are reserved, lead on to IPv4 (Teredo, 6to4) or are for examples. */
const IPV6_NOT_PUBLIC = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((text) => parseBlock(text)!);

/** Whether it is the address of a host on the Internet; private, link-local, multicast and reserved ones are not. */
export function isPublicAddress(address: Address): boolean {
  if (address.length === 4) return !NOT_PUBLIC.some((block) => inBlock(address, block));
  return inBlock(address, IPV6_UNICAST) && !IPV6_NOT_PUBLIC.some((block) => inBlock(address, block));
}

function parseIPv4(text: string): Address | undefined {
  return IPV4.test(text) ? text.split('.').map(Number) : undefined;
}

function parseIPv6(text: string): Address | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, i) => groupsOf(half, i === halves.length - 1));
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const missing = IPV6_GROUPS - head.length - (tail?.length ?? 0);
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...(tail ?? [])];
  return groups.flatMap((group) => [group >> 8, group & 0xff]);
}

/** @param last the last group may be an IPv4 address, which stands for two */
function groupsOf(half: string, last: boolean): number[] | undefined {
  if (half === '') return [];
  const groups: number[] = [];
  const parts = half.split(':');
  for (const [i, part] of parts.entries()) {
    const ipv4 = last && i === parts.length - 1 ? parseIPv4(part) : undefined;
    if (ipv4 !== undefined) groups.push((ipv4[0]! << 8) | ipv4[1]!, (ipv4[2]! << 8) | ipv4[3]!);
    else if (IPV6_GROUP.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
