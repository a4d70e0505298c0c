/** Decides to which addresses a key may be sent. */
import { BlockList, isIPv6 } from "node:net";
import { InputError } from "./errors.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8);
LOOPBACK.addAddress("::1", "ipv6");

/**
 * Requires that nobody on the way to this http or https address can read a key. Throws InputError, which
 * names the option `--key`.
 */
export function requireKeyAddress(address: string): void {
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:" || isLoopback(hostname)) return;
  throw new InputError(
    `--key: a key is sent over https or to this machine only, not to ${address}: give its https address, or no key`,
  );
}

/** Whether the `hostname` of a URL is this machine's. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || LOOPBACK.check(host, isIPv6(host) ? "ipv6" : "ipv4");
}
