/** Finds the address that a request without a key is counted for. */

const BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = new RegExp(`^${BYTE}(?:\\.${BYTE}){3}$`);
const isIPv4 = (text: string): boolean => IPV4.test(text);
/** Of an IPv6 address the longest text has 45 characters (RFC 4291, 2.2). */
const IPV6 = /^(?=.*:)[0-9a-f:.]{2,45}$/i;
const isIPv6 = (text: string): boolean => IPV6.test(text) && URL.canParse(`http://[${text}]`);

/** Addresses that share one quota: an IPv4 address or an IPv6 /64 (`2001:db8:0:1::/64`). */
export type AddressGroup = string;

/** The group of the client's address. */
export const clientAddress = (
  peer: string | undefined,
  forwardedFor: string | undefined,
  trustedHops: number,
): AddressGroup => addressGroup(wholeAddress(peer, forwardedFor, trustedHops));

/**
 * The client's address. Without trusted proxies it is the socket's. Behind `trustedHops` proxies of
 * the operator it is the entry of X-Forwarded-For that the outermost of them wrote (number
 * `trustedHops` from the right). If the list is shorter or the entry is not an address, the last
 * trusted entry counts, never one that the caller could forge.
 */
export function wholeAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trustedHops: number,
): string {
  let client = peer ?? "";
  if (trustedHops > 0 && forwardedFor !== undefined) {
    const entries = forwardedFor.split(",");
    for (let hop = 1; hop <= trustedHops && hop <= entries.length; hop++) {
      const address = withoutPort((entries[entries.length - hop] as string).trim());
      if (!isIPv4(address) && !isIPv6(withoutZone(address))) break;
      client = address;
    }
  }
  return client;
}

/** An IPv4 address itself (also from `::ffff:a.b.c.d`), the /64 of an IPv6 address, or `unknown`. */
export function addressGroup(address: string): AddressGroup {
  if (isIPv4(address)) return address;
  const numbers = withoutZone(address);
  if (!isIPv6(numbers)) return "unknown";
  const groups = ipv6Groups(numbers);
  if (groups.slice(0, 6).join() === "0,0,0,0,0,ffff") {
    const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
  }
  return `${groups.slice(0, 4).join(":")}::/64`;
}

/** The network of one home: the IPv6 /56 of a /64; an IPv4 address is its own. */
export function homeOf(group: AddressGroup): string {
  const parts = group.split(":");
  if (parts.length < 4) return group;
  const subnet = Number.parseInt(parts[3] as string, 16) >> 8;
  return `${parts.slice(0, 3).join(":")}:${subnet.toString(16)}::/56`;
}

/** For logs: enough to tell networks apart, not a person (IPv4 /24, IPv6 /48). */
export function shortened(group: AddressGroup): string {
  if (isIPv4(group)) return group.replace(/\d+$/, "0/24");
  const parts = group.split(":");
  return parts.length < 4 ? group : `${parts.slice(0, 3).join(":")}::/48`;
}

/** `192.0.2.1:8080` and `[2001:db8::1]:8080` as some proxies write them. */
function withoutPort(entry: string): string {
  const parts = /^\[([^\]]+)\](?::\d+)?$/.exec(entry) ?? /^([\d.]+):\d+$/.exec(entry);
  return parts?.[1] ?? entry;
}

/** An address of a link of the machine may name it: `fe80::1%eth0`. */
const withoutZone = (address: string): string => address.replace(/%.*$/, "");

/** The eight groups in hexadecimal (RFC 4291, 2.2). URLs write each address in one way, with one `::` at most. */
function ipv6Groups(address: string): string[] {
  const [head = "", tail = ""] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const groupsOf = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const first = groupsOf(head);
  const last = groupsOf(tail);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  return [...first, ...zeros, ...last];
}
