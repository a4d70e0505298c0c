/** Which address is counted, and which addresses are counted together. */
import { describe, expect, test } from "vitest";
import { addressGroup, clientAddress, shortened } from "../../src/core/client-address.ts";

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
