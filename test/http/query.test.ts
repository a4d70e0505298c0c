/** The query: refused parameters with their faults, and keys, which no answer repeats. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProblemCode } from "../../src/proxy/problems.ts";
import { pagePaths, uncountedPaths } from "./addresses.ts";
import { BROKEN, DROPPED, NEVER, startTestProxy, YOUNG, type TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

describe("parameters", () => {
  const CASES: readonly (readonly [query: string, code: ProblemCode, faults: number])[] = [
    ["foo=1", "unknown_parameter", 1],
    ["IDS=dram-0", "unknown_parameter", 1],
    ["ids=dram-0&foo=1", "unknown_parameter", 1],
    ["ids=", "invalid_parameter", 1],
    ["ids=dram-0,", "invalid_parameter", 1],
    ["ids=dram-0,,dram-1", "invalid_parameter", 1],
    ["ids=dram-0,dram-0", "invalid_parameter", 1],
    ["ids=dram-0&ids=dram-1", "invalid_parameter", 1],
    ["weights=1", "invalid_parameter", 1],
    ["quantities=1", "invalid_parameter", 1],
    ["ids=dram-0&weights=1&quantities=1", "invalid_parameter", 1],
    ["ids=dram-0,dram-1&quantities=1", "invalid_parameter", 1],
    ["ids=dram-0&quantities=1&quantities=1", "invalid_parameter", 1],
    ["ids=dram-0,dram-1&weights=1", "invalid_parameter", 1],
    ["ids=dram-0&weights=1&weights=1", "invalid_parameter", 1],
    [`ids=${Array.from({ length: 101 }, (_, at) => `c${at}`).join(",")}`, "invalid_parameter", 1],
    ["ids=no-such", "unknown_contract", 1],
    [`ids=${NEVER}`, "unknown_contract", 1],
    [`ids=${DROPPED}`, "unknown_contract", 1],
    [`ids=${YOUNG}`, "no_base_level", 1],
    [`ids=${BROKEN}`, "no_base_level", 1],
    ["ids=DRAM-0", "unknown_contract", 1],
    [`ids=,dram-0,dram-0,no-such,${YOUNG}&weights=x&a=1`, "unknown_parameter", 7],
    [`ids=no-such,${YOUNG}`, "unknown_contract", 2],
  ];
  for (const [query, code, faults] of CASES) {
    test(`/index?${query.slice(0, 60)}: ${code}`, async () => {
      const { json } = await expectCode(
        proxy,
        `${API}/index?${query}`,
        { key: proxy.pro },
        code,
        400,
      );
      expect(json.errors).toHaveLength(faults);
      expect(Object.keys(json.errors[0]).slice(0, 3)).toEqual(["parameter", "value", "detail"]);
    });
  }

  const BAD_AMOUNTS = [
    "NaN",
    "1e309",
    "-0",
    "0x10",
    "",
    "0",
    "0.0",
    "-1",
    "+1",
    ".5",
    "1.",
    "1e1",
    " 1",
  ];
  const MORE = ["1234567890", "1.1234567890", "Infinity", "1_0", "١", "１", "1\0", "1\r\n", "1;2"];
  for (const name of ["weights", "quantities"]) {
    test.each([...BAD_AMOUNTS, ...MORE, "__proto__"])(
      `${name} of %j are refused`,
      async (amount) => {
        const query = `ids=dram-0,dram-1&${name}=1,${encodeURIComponent(amount)}`;
        const options = { key: proxy.pro };
        const path = `${API}/index?${query}`;
        const { json } = await expectCode(proxy, path, options, "invalid_parameter");
        expect(json.errors).toMatchObject([{ parameter: name, value: amount }]);
        expect(json.detail).toMatch(/expected a decimal above 0/);
      },
    );
  }

  test("the bounds pass: 9 digits before and after the point", async () => {
    for (const name of ["weights", "quantities"]) {
      const query = `ids=dram-0,dram-1&${name}=999999999.999999999,0.000000001`;
      expect((await proxy.get(`${API}/index?${query}`, { key: proxy.pro })).status).toBe(200);
    }
  });

  for (const path of ["/prices", "/prices/dram-0", "/export.csv", "/export.xlsx", "/usage"]) {
    test(`${path} takes no parameters`, async () => {
      await expectCode(proxy, `${API}${path}?id=nand-0`, { key: proxy.pro }, "unknown_parameter");
      expect((await proxy.get(`${API}${path}?`, { key: proxy.pro })).status).toBe(200);
    });
  }
});

describe("long queries", () => {
  const LIMITED = [
    ["/prices", "a", "unknown_parameter"],
    ["/prices/dram-0", "a=1", "unknown_parameter"],
    ["/usage", "a", "unknown_parameter"],
    ["/index", "%61=%62", "unknown_parameter"],
    ["/index", "ids=dram-0", "invalid_parameter"],
  ] as const;
  for (const [path, parameter, code] of LIMITED) {
    for (const count of [11, 1_000]) {
      test(`${path}: ${count} times ${parameter} names at most 100 faults`, async () => {
        const query = Array.from({ length: count }, () => parameter).join("&");
        const options = { key: proxy.pro };
        const { json, text } = await expectCode(proxy, `${API}${path}?${query}`, options, code);
        // The first one of a known parameter is right. No more than 100 are read.
        const read = Math.min(count, 100);
        expect(json.errors).toHaveLength(code === "unknown_parameter" ? read : read - 1);
        expect(text.length).toBeLessThan(30_000);
      });
    }
  }

  test("a value is shown up to 120 characters, so that every id is", async () => {
    const ids = ["x", "y"].map((end) => `${"i".repeat(99)}${end}`);
    const { json } = await expectCode(
      proxy,
      `${API}/index?ids=${ids.join(",")},${"z".repeat(130)}`,
      { key: proxy.pro },
      "unknown_contract",
      400,
    );
    expect(json.errors.map(({ value }: { value: string }) => value)).toEqual([
      ...ids,
      `${"z".repeat(120)}…`,
    ]);
  });

  test("100 faults are named, those of the code first, and the rest is counted", async () => {
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

describe("keys in the query", () => {
  test("are found anywhere, and reported before a bad key and too many parameters", async () => {
    const query = `${"a&".repeat(1_000)}api_key=x`;
    for (const path of ["/prices", "/usage", "/index", "/export.xlsx"]) {
      await expectCode(proxy, `${API}${path}?${query}`, { key: "bad" }, "key_in_query");
    }
  });

  const NAMES = [
    "key",
    "api_key",
    "apikey",
    "token",
    "access_token",
    "x-api-key",
    "API_Key",
    "TOKEN",
  ];
  for (const query of [
    ...NAMES.map((name) => `${name}=1`),
    "q=cbk_abc",
    "cbk_abc",
    "%6bey=1",
    "ids=cbk_a",
  ]) {
    test(`?${query}`, async () => {
      const { text } = await expectCode(
        proxy,
        `${API}/index?${query}`,
        { key: proxy.pro },
        "key_in_query",
      );
      expect(text).not.toContain("cbk_");
      expect(proxy.logged.join("")).not.toContain("cbk_");
    });
  }

  test("no answer repeats a key", async () => {
    for (const path of [`/prices/${proxy.pro}`, `/index?ids=a,${proxy.pro}`, `/${proxy.pro}`]) {
      const { status, text } = await proxy.get(API + path, { key: proxy.pro });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toContain(proxy.pro.slice(4));
    }
  });
});
