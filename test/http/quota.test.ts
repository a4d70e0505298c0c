/** The monthly quota: exact under concurrency, per account or address, reset with the month. */
import { afterEach, describe, expect, test } from "vitest";
import { pagePaths, uncountedPaths } from "./addresses.ts";
import { startTestProxy, TestClock, type TestProxy, type TestProxyOptions } from "./fixture.ts";

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
  let usage = await proxy.get(`${API}/usage`, { key: second });
  for (let attempt = 0; attempt < 100 && usage.json.tier !== "pro"; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    usage = await proxy.get(`${API}/usage`, { key: second });
  }
  expect(usage.json).toMatchObject({ tier: "pro", limit: null, used: 2, remaining: null });
  expect(left(usage)).toBe("2147483647");
});

test("only a 200 costs a call; HEAD does, too", async () => {
  await start();
  const key = proxy.starter;
  const { headers } = await proxy.get(`${API}/prices`, { key });
  const free = [
    [`${API}/prices`, { key, headers: { "if-none-match": headers.etag as string } }, 304],
    [`${API}/prices/no-such`, { key }, 404],
    [`${API}/prices?x=1`, { key }, 400],
    [`${API}/export.xlsx`, { key }, 403],
    ...[...uncountedPaths("key"), ...uncountedPaths("everybody"), ...pagePaths()].map(
      (path) => [path, { key }, 200] as const,
    ),
    ["/nowhere", { key }, 404],
    [`${API}/prices`, { key, method: "POST" }, 405],
    [`${API}/prices`, { key, method: "OPTIONS" }, 204],
  ] as const;
  for (const [path, options, status] of free) {
    const received = await proxy.get(path, options);
    expect([path, received.status, left(received)]).toEqual([path, status, "24999"]);
  }
  expect(left(await proxy.get(`${API}/prices`, { key, method: "HEAD" }))).toBe("24998");
  // Without a key the same addresses show the quota of the client address.
  expect(left(await proxy.get("/nowhere"))).toBe("1000");
  expect(left(await proxy.get("/", { key: "unknown" }))).toBe("0");
});

describe("the month's end", () => {
  const ENDS = [
    ["2026-02-28T23:59:59.000Z", "2026-03-01T00:00:00.000Z", "28 days"],
    ["2028-02-29T23:59:59.000Z", "2028-03-01T00:00:00.000Z", "29 days"],
    ["2026-11-30T23:59:59.000Z", "2026-12-01T00:00:00.000Z", "30 days"],
    ["2026-10-31T23:59:59.000Z", "2026-11-01T00:00:00.000Z", "31 days"],
    ["2026-12-31T23:59:59.000Z", "2027-01-01T00:00:00.000Z", "31 December"],
  ] as const;
  for (const [last, reset, name] of ENDS) {
    test(`${name}: counted until the last second, then from 0`, async () => {
      const clock = new TestClock(Date.parse(last));
      await start({ clock });
      const used = await proxy.get(`${API}/prices`, { key: proxy.starter });
      expect(left(used)).toBe("24999");
      const usage = await proxy.get(`${API}/usage`, { key: proxy.starter });
      expect(usage.json).toMatchObject({ used: 1, resets_at: reset });
      clock.ms = Date.parse(reset) - 1;
      expect((await proxy.get(`${API}/usage`, { key: proxy.starter })).json.used).toBe(1);
      clock.ms = Date.parse(reset);
      expect((await proxy.get(`${API}/usage`, { key: proxy.starter })).json.used).toBe(0);
      expect(left(await proxy.get(`${API}/prices`, { key: proxy.starter }))).toBe("24999");
    });
  }

  test("retry-after at the last second is 1", async () => {
    const clock = new TestClock(Date.parse("2026-12-31T23:59:59.400Z"));
    await start({ clock });
    const calls = Array.from({ length: 1_000 }, () => proxy.get(`${API}/prices/dram-0`));
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await proxy.get(`${API}/prices`);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
  });
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
