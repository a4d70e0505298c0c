/** The monthly quota: exact under concurrency, per account or address; beside limits.http. */
import { afterEach, describe, expect, test } from "vitest";
import { pagePaths, uncountedPaths } from "./addresses.ts";
import { eventually, startTestProxy, type TestProxy, type TestProxyOptions } from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
const start = async (options: TestProxyOptions = {}): Promise<TestProxy> =>
  (proxy = await startTestProxy(options));
afterEach(() => proxy.close());

const left = (received: { headers: Record<string, unknown> }): unknown =>
  received.headers["x-ratelimit-remaining"];

test("50 callers at once get exactly the limit, then 429 with retry-after", async () => {
  await start();
  const counts = new Map<number, number>();
  const rest: number[] = [];
  let calls = 0;
  const caller = async (): Promise<void> => {
    while (calls < 1_200) {
      calls += 1;
      const received = await proxy.get(`${API}/prices/dram-0`);
      counts.set(received.status, (counts.get(received.status) ?? 0) + 1);
      if (received.status === 200) rest.push(Number(left(received)));
      else expect(received.headers["retry-after"]).toBe(String(10 * 86_400 - 300));
    }
  };
  await Promise.all(Array.from({ length: 50 }, caller));
  expect(counts).toEqual(
    new Map([
      [200, 1_000],
      [429, calls - 1_000],
    ]),
  );
  // Each granted call has another count.
  expect(new Set(rest)).toEqual(new Set(Array.from({ length: 1_000 }, (_, at) => at)));
});

test("all keys of an account share its quota, and a change of tier keeps the count", async () => {
  await start();
  const second = (await proxy.registry.createKey("small", null)).key;
  await proxy.get(`${API}/prices`, { key: proxy.starter });
  expect(left(await proxy.get(`${API}/prices`, { key: second }))).toBe("24998");
  await proxy.registry.setAccount("small", { tier: "pro" });
  const usageOf = () => proxy.get(`${API}/usage`, { key: second });
  await eventually(async () => (await usageOf()).json.tier === "pro");
  const usage = await usageOf();
  expect(usage.json).toMatchObject({ tier: "pro", limit: null, used: 2, remaining: null });
  expect(left(usage)).toBe("2147483647");
});

test("addresses without data cost no call", async () => {
  await start();
  const paths = [...uncountedPaths("key"), ...uncountedPaths("everybody"), ...pagePaths()];
  for (const path of paths) {
    const received = await proxy.get(path, { key: proxy.starter });
    expect([path, received.status, left(received)]).toEqual([path, 200, "25000"]);
  }
});

describe("whose address is counted", () => {
  const ask = (forwarded: string) =>
    proxy.get(`${API}/prices/dram-0`, { headers: { "x-forwarded-for": forwarded } });

  test("without trusted proxies X-Forwarded-For is ignored", async () => {
    await start();
    expect(left(await ask("192.0.2.1"))).toBe("999");
    expect(left(await ask("192.0.2.2"))).toBe("998");
  });

  test("behind one trusted proxy the last entry counts, whatever entries a caller adds before it", async () => {
    await start({ trustedHops: 1 });
    expect(left(await ask("192.0.2.1"))).toBe("999");
    expect(left(await ask("203.0.113.9, 192.0.2.1"))).toBe("998");
    expect(left(await ask("::ffff:192.0.2.1"))).toBe("997");
    expect(left(await ask("192.0.2.2"))).toBe("999");
  });

  test("IPv6 is counted by /64", async () => {
    await start({ trustedHops: 2 });
    expect(left(await ask("2001:db8:0:1::1, 10.0.0.1"))).toBe("999");
    expect(left(await ask("2001:db8::1:ffff:ffff:ffff:ffff, 10.0.0.1"))).toBe("998");
    expect(left(await ask("2001:db8:0:2::1, 10.0.0.1"))).toBe("999");
  });

  test("logs and metrics hold no full address and no key", async () => {
    await start({ trustedHops: 1 });
    await ask("192.0.2.77");
    await ask("2001:db8:aaaa:bbbb:cccc::1");
    await proxy.get(`${API}/prices`, { key: proxy.pro });
    const log = proxy.logged.join("");
    expect(log).toContain('"from":"192.0.2.0/24"');
    expect(log).toContain('"from":"2001:db8:aaaa::/48"');
    const metrics = await (await fetch(proxy.metricsUrl)).text();
    for (const secret of ["192.0.2.77", "bbbb", proxy.pro.slice(0, 12)]) {
      expect(log).not.toContain(secret);
      expect(metrics).not.toContain(secret);
    }
  });
});
