/** Finds the address that a request without a key is counted for. */
import { isIP, isIPv4 } from "node:net";

/** Addresses that share one quota: an IPv4 address or an IPv6 /64 (`2001:db8:0:1::/64`). */
export type AddressGroup = string;

/**
 * The client's address. Without trusted proxies it is the socket's. Behind `trustedHops` proxies of
 * the operator it is the entry of X-Forwarded-For that the outermost of them wrote (number
 * `trustedHops` from the right). If the list is shorter or the entry is not an address, the last
 * trusted entry counts, never one that the caller could forge.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trustedHops: number,
): AddressGroup {
  let client = peer ?? "";
  if (trustedHops > 0 && forwardedFor !== undefined) {
    const entries = forwardedFor.split(",");
    for (let hop = 1; hop <= trustedHops && hop <= entries.length; hop++) {
      const address = withoutPort((entries[entries.length - hop] as string).trim());
      if (isIP(address) === 0) break;
      client = address;
    }
  }
  return addressGroup(client);
}

/** An IPv4 address itself (also from `::ffff:a.b.c.d`), the /64 of an IPv6 address, or `unknown`. */
export function addressGroup(address: string): AddressGroup {
  if (isIPv4(address)) return address;
  const groups = ipv6Groups(address);
  if (groups === null) return "unknown";
  const [high, low] = [groups[6] as number, groups[7] as number];
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
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

/** The eight 16-bit groups (RFC 4291, 2.2), without the zone; null if it is not an IPv6 address. */
function ipv6Groups(text: string): number[] | null {
  const address = text.replace(/%.*$/, "");
  if (isIP(address) !== 6) return null;
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)]
      .map((group) => group.toString(16))
      .join(":"),
  );
  const [head = "", tail] = hex.split("::");
  const groupsOf = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return [...first, ...zeros, ...last];
}
