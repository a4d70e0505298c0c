/**
 * An answer is the same from the live snapshot and by `publication`: of every address with data, for each tier and
 * with each parameter, on the market of these tests, on one without any level, and on random markets.
 */
import { test as property } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { KEY_TIER_NAMES, type KeyTierName } from "../../src/market/tier.ts";
import { takenBy, DATA_ROUTES, SUMS_ROUTE, type DataRoute } from "../../src/public/routes.ts";
import { mcpHttpServer } from "../../src/mcp/http.ts";
import { listen } from "../../src/hosts/node/server.ts";
import { agentOfToday } from "../../tools/client/agents.ts";
import { PythonClient } from "../guide/python-client.ts";
import { publishRaw } from "../property/published.ts";
import { rawCases } from "../property/raw-markets.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  DROPPED,
  KEYED_IDS,
  NEVER,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { testWith, testWithClients } from "./needed-tools.ts";

/** Values of each parameter, with ids and dates of a market. */
function valuesOf(ids: readonly string[], date: string): Readonly<Record<string, string[]>> {
  const [first = "none"] = ids;
  const yearBefore = `${Number(date.slice(0, 4)) - 1}-01-01`;
  return {
    ids: [first, ids.slice(0, 3).join(","), ids.toReversed().slice(0, 2).join(","), "no-such-id"],
    segment: ["dram", "dram,nand", "no-such-segment"],
    from: [date, "2031-01-01"],
    to: [date, "1999-01-01", yearBefore],
    last: ["1", "2000", "0"],
    after: ["0", "1", "99"],
    since: ["1999-01-01", date],
    weights: [
      ids
        .slice(0, 3)
        .map((_, at) => at + 1)
        .join(","),
    ],
    quantities: [
      ids
        .slice(0, 3)
        .map((_, at) => (at + 1) / 2)
        .join(","),
    ],
  };
}

/** The queries for a route: none, each parameter by itself, and some together. */
function queriesFor(route: DataRoute, ids: readonly string[], date: string): string[] {
  const values = valuesOf(ids, date);
  const names = takenBy(route).map(({ name }) => name);
  const single = names.flatMap((name) => (values[name] ?? []).map((value) => `${name}=${value}`));
  const basket = ids.slice(0, 3).join(",");
  const together = [
    ...(names.includes("from") ? [`from=${date}&last=2`] : []),
    ...(names.includes("ids") && names.includes("last") ? [`ids=${ids[0]}&last=3`] : []),
    ...(names.includes("weights") ? [`ids=${basket}&weights=${values["weights"]?.[0]}`] : []),
    ...(names.includes("quantities")
      ? [`ids=${basket}&quantities=${values["quantities"]?.[0]}`]
      : []),
  ];
  return ["", ...single, ...together];
}

/** Differ by nature: freshness, the date of the answer, and the calls that are left. */
const OTHERS = new Set([
  "cache-control",
  "date",
  "x-ratelimit-remaining",
  "connection",
  "keep-alive",
]);

async function answerOf(proxy: TestProxy, path: string, key: string, coding?: string) {
  const headers = coding === undefined ? {} : { "accept-encoding": coding };
  const { status, raw, headers: fields } = await proxy.get(path, { key, headers });
  const kept = Object.entries(fields).filter(([name]) => !OTHERS.has(name));
  return { status, fields: Object.fromEntries(kept), body: raw.toString("latin1") };
}

/** Asks everything of everybody, and returns how many answers had data. */
async function requireSame(
  proxy: TestProxy,
  ids: readonly string[],
  date: string,
): Promise<number> {
  const { publication } = (await proxy.get("/readyz")).json;
  let found = 0;
  for (const route of [...Object.values<DataRoute>(DATA_ROUTES), SUMS_ROUTE]) {
    const paths = route.path.endsWith("{id}")
      ? [...ids.slice(0, 3), "dram", "composite", "no-such-id"].map((id) =>
          route.path.replace("{id}", id),
        )
      : [route.path];
    const asked = paths.flatMap((path) =>
      queriesFor(route, ids, date).map((query) => [path, query]),
    );
    for (const [path, query] of asked) {
      for (const tier of KEY_TIER_NAMES) {
        const key = proxy[tier as KeyTierName];
        const coding = found % 2 === 0 ? "gzip" : undefined;
        const old = [query, `publication=${publication}`].filter(Boolean).join("&");
        const then = await answerOf(proxy, `${path}?${old}`, key, coding);
        const now = await answerOf(proxy, query ? `${path}?${query}` : String(path), key, coding);
        expect([tier, path, query, now]).toEqual([tier, path, query, then]);
        if (now.status === 200) found += 1;
      }
    }
  }
  return found;
}

const IDS = ["dram-0", KEYED_IDS[1] as string, "chip-0", DROPPED, NEVER];

test("on the market of the other tests", async () => {
  const proxy = await startTestProxy();
  try {
    expect(await requireSame(proxy, IDS, "2026-11-10")).toBeGreaterThan(100);
  } finally {
    await proxy.close();
  }
});

test("on a market without any level", async () => {
  const store = new MemoryStore();
  await publishSession(store, new TestClock(), SESSION, { first: true, hasCloses: false, ids: [] });
  const proxy = await startTestProxy({ store });
  try {
    expect(await requireSame(proxy, IDS, "2026-11-10")).toBeGreaterThan(50);
  } finally {
    await proxy.close();
  }
});

property.prop([rawCases], { numRuns: 2 })("on random markets", async ({ raw, sessionUtc: utc }) => {
  const store = new MemoryStore();
  const { contracts, levels, max_carry_days: maxCarryDays } = raw;
  const input = { contracts, quotes: levels, closes: [], maxCarryDays };
  await publishRaw(store, input, utc);
  const proxy = await startTestProxy({ store, clock: new TestClock(Date.parse(utc) + 120_000) });
  try {
    const ids = contracts.map(({ id }) => id);
    expect(await requireSame(proxy, ids, utc.slice(0, 10))).toBeGreaterThan(10);
  } finally {
    await proxy.close();
  }
});

testWith("python3")("by the Python module", async () => {
  const proxy = await startTestProxy();
  try {
    const { publication } = (await proxy.get("/readyz")).json;
    const python = await PythonClient.download(proxy.url, proxy.pro);
    const printed = await python.print(`import json, os
from client import Client
live = Client(key=os.environ["KEY"])
then = live.as_of(${publication})
ids = ["dram-0", "chip-0"]
for ask in (
    lambda c: c.prices(), lambda c: c.prices(ids=ids), lambda c: c.contract("dram-0", start="2026-11-01"),
    lambda c: c.history(ids=ids, start="2026-11-01"), lambda c: c.levels(ids=ids), lambda c: c.index("dram"),
    lambda c: c.basket({"dram-0": 2, "nand-0": 1}), lambda c: c.corrections(), lambda c: c.sums(),
):
    print(json.dumps(ask(live), default=str) == json.dumps(ask(then), default=str))
`);
    expect(printed.trim().split("\n")).toEqual(Array.from({ length: 9 }, () => "True"));
    await python.remove();
  } finally {
    await proxy.close();
  }
});

testWithClients()("by agents", async () => {
  const proxy = await startTestProxy({ trustedHops: 1 });
  const server = mcpHttpServer(proxy.url, ["prices.example"], () => {});
  try {
    const { publication } = (await proxy.get("/readyz")).json;
    const url = `${await listen(server, "--http", "127.0.0.1", 0)}/mcp`;
    const agent = await agentOfToday(url, { authorization: `Bearer ${proxy.pro}` });
    const calls: [string, Record<string, unknown>][] = [
      ["get_prices", { ids: ["dram-0", "chip-0"] }],
      ["get_history", { id: "dram-0", last: 5 }],
      ["get_index", { id: "dram" }],
    ];
    for (const [tool, args] of calls) {
      const now = await agent.call(tool, args);
      const then = await agent.call(tool, { ...args, publication });
      const answerIn = (text: string): unknown => JSON.parse(text).answer;
      expect([tool, answerIn(now.text)]).toEqual([tool, answerIn(then.text)]);
    }
    await agent.close();
  } finally {
    server.close();
    server.closeAllConnections();
    await proxy.close();
  }
});
