/** Which address is counted, and which addresses are counted together. */
import { describe, expect, test } from "vitest";
import { EventEmitter } from "node:events";
import { Server } from "node:http";
import { addressGroup, clientAddress, homeOf, shortened } from "../../src/core/client-address.ts";
import { limitConnections } from "../../src/hosts/node/connections.ts";

describe("the group of an address", () => {
  const GROUPS = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:0201", "192.0.2.1"],
    ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["2001:DB8:0:0:ffff:ffff:ffff:ffff", "2001:db8:0:0::/64"],
    ["2001:db8:0:1::", "2001:db8:0:1::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["::", "0:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    ["::192.0.2.1", "0:0:0:0::/64"],
    ["", "unknown"],
    ["example.com", "unknown"],
    ["1.2.3", "unknown"],
  ] as const;
  for (const [address, group] of GROUPS) {
    test(`${address}: ${group}`, () => expect(addressGroup(address)).toBe(group));
  }
});

test("a home has an IPv6 /56; an IPv4 address is its own", () => {
  expect(homeOf(addressGroup("2001:db8:0:12ff::1"))).toBe("2001:db8:0:12::/56");
  expect(homeOf(addressGroup("2001:db8:0:ff::1"))).toBe("2001:db8:0:0::/56");
  expect(homeOf("192.0.2.1")).toBe("192.0.2.1");
  expect(homeOf("unknown")).toBe("unknown");
});

/** Opens connections from these addresses: how many stay open, and why others do not. */
function opened(addresses: readonly string[], maxAll: number, maxEach: number) {
  const server = new Server();
  const reasons: string[] = [];
  limitConnections(server, maxAll, maxEach, (_, why) => reasons.push(why));
  const sockets = addresses.map((remoteAddress) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, destroy: () => {} });
    server.emit("connection", socket);
    return socket;
  });
  const close = (at: number): void => void sockets[at]?.emit("close");
  const open = (remoteAddress: string): number => {
    const before = reasons.length;
    server.emit(
      "connection",
      Object.assign(new EventEmitter(), { remoteAddress, destroy: () => {} }),
    );
    return reasons.length - before;
  };
  return { reasons, close, open };
}

test("sixteen networks of one home cannot have all places", () => {
  const places = Array.from({ length: 2_016 }, (_, at) => `2001:db8:0:${(at % 16) + 1}::1`);
  const { reasons, close, open } = opened(places, 2_000, 128);
  expect(new Set(reasons)).toEqual(new Set(["of one network"]));
  expect(reasons).toHaveLength(2_016 - 256);
  expect(open("2001:db8:ffff::1")).toBe(0);
  expect(open("2001:db8:0:1::1")).toBe(1);
  close(0);
  expect(open("2001:db8:0:1::1")).toBe(0);
});

test("the last tenth of all places is for networks without any", () => {
  const places = Array.from({ length: 100 }, (_, at) => `192.0.2.${at % 10}`);
  const { reasons, open } = opened(places, 100, 50);
  expect(reasons).toEqual(Array(10).fill("in all"));
  expect(open("192.0.2.99")).toBe(0);
  expect(open("192.0.2.99")).toBe(1);
});

describe("behind trusted proxies", () => {
  const CASES = [
    [0, "198.51.100.1", "10.0.0.1"],
    [1, undefined, "10.0.0.1"],
    [1, "198.51.100.1", "198.51.100.1"],
    [1, "made-up, 198.51.100.1", "198.51.100.1"],
    [2, "203.0.113.1, 198.51.100.1", "203.0.113.1"],
    [2, "made-up,203.0.113.1 ,198.51.100.1", "203.0.113.1"],
    [3, "203.0.113.1, 198.51.100.1", "203.0.113.1"],
    [1, "198.51.100.1:4711", "198.51.100.1"],
    [1, "[2001:db8::1]:4711", "2001:db8:0:0::/64"],
    [1, "unknown", "10.0.0.1"],
    [1, "", "10.0.0.1"],
    [2, "not-an-address, 198.51.100.1", "198.51.100.1"],
  ] as const;
  for (const [hops, forwarded, group] of CASES) {
    test(`${hops} hops, "${forwarded}": ${group}`, () => {
      expect(clientAddress("10.0.0.1", forwarded, hops)).toBe(group);
    });
  }
});

test("logs get a network, not an address", () => {
  expect(shortened("192.0.2.77")).toBe("192.0.2.0/24");
  expect(shortened("2001:db8:aaaa:bbbb::/64")).toBe("2001:db8:aaaa::/48");
  expect(shortened("unknown")).toBe("unknown");
});
