/** Long queries, and keys in them, which no answer repeats; beside parameters.http. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pagePaths, uncountedPaths } from "./addresses.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

describe("long queries", () => {
  test("100 faults are named, beginning with the code's own, and the rest is counted", async () => {
    const unknown = Array.from({ length: 100 }, (_, at) => `no-such-${at}`);
    const bad = unknown.map(() => "x");
    const cases = [
      [
        `ids=${unknown.slice(0, 25).join(",")}`,
        25,
        "unknown_contract",
        "ids",
        / \(and 24 more, see/,
      ],
      [`ids=${unknown.join(",")}`, 100, "unknown_contract", "ids", / \(and 99 more, see errors\)/],
      [
        `ids=${unknown.join(",")}&weights=${bad.join(",")}`,
        100,
        "invalid_parameter",
        "weights",
        /errors names 100 faults, and 100 more are not named/,
      ],
    ] as const;
    for (const [query, count, code, parameter, detail] of cases) {
      const path = `${API}/index?${query}`;
      const { json } = await expectCode(proxy, path, { key: proxy.pro }, code, 400);
      expect(json.errors).toHaveLength(count);
      expect(new Set(json.errors.map((fault: { parameter: string }) => fault.parameter))).toEqual(
        new Set([parameter]),
      );
      expect(json.detail).toMatch(detail);
    }
  });

  test("a basket of 100 contracts with weights of any size fits the header", async () => {
    const ids = Array.from({ length: 100 }, (_, at) => `${"i".repeat(97)}${100 + at}`);
    const weights = ids.map(() => "999999999.999999999");
    const path = `${API}/index?ids=${ids.join(",")}&weights=${weights.join(",")}`;
    await expectCode(proxy, path, { key: proxy.pro }, "unknown_contract", 400);
  });

  test("addresses without data refuse keys in the query, and nothing else", async () => {
    for (const path of [...pagePaths(), ...uncountedPaths("everybody")]) {
      const { status } = await proxy.get(`${path}?a&a&a&a&a&a&a&a&a&a&a`);
      expect([path, status]).toEqual([path, 200]);
      await expectCode(proxy, `${path}?a&token=cbk_a`, {}, "key_in_query");
    }
    expect(proxy.logged.join("")).not.toContain("cbk_");
  });
});

test("no answer repeats a key", async () => {
  for (const path of [`/prices/${proxy.pro}`, `/index?ids=a,${proxy.pro}`, `/${proxy.pro}`]) {
    const { status, text } = await proxy.get(API + path, { key: proxy.pro });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).not.toContain(proxy.pro.slice(4));
  }
});
