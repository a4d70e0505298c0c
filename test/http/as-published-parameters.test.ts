/** The parameters publication and as_of: their values, and which refusal comes first. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { instantText } from "../../src/lib/clock.ts";
import type { ProblemCode } from "../../src/public/problems.ts";
import { API } from "../../src/public/routes.ts";
import { openAccounts } from "../../src/state/open.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  DROPPED,
  eventually,
  NEVER,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  snapshotOf,
  startTestProxy,
  TestClock,
  YOUNG,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

/** Entries: 1 (pruned), 2, 3, 4 (the prune), 5 (the head). 1 and 2 are of 12 hours and more before 3. */
const PRUNED = 1;
const PRUNE = 4;
const HEAD = 5;
/** 200 sessions after the first two: too old for the tier starter. */
const AHEAD = 200;

let proxy: TestProxy;
let empty: TestProxy;
let startMs: number;
let headMs: number;
beforeAll(async () => {
  const store = await publishedStore();
  const clock = new TestClock();
  startMs = clock.ms;
  const later = (sessions: number): TestClock => {
    clock.ms = startMs + sessionsMs(sessions);
    return clock;
  };
  await publishSession(store, later(1), SESSION + 1);
  await publishSession(store, later(AHEAD), SESSION + AHEAD, { usd: 12 });
  const { snapshots } = await prune(store, 0, false, later(AHEAD));
  expect(snapshots.map(({ name }) => name)).toEqual(["2026-11-21T00Z/r1"]);
  await publishSession(store, later(AHEAD + 1), SESSION + AHEAD + 1, { usd: 13 });
  headMs = clock.ms;
  clock.ms += 600_000;
  proxy = await startTestProxy({ store, clock });
  empty = await startTestProxy({ store: new MemoryStore() });
});
afterAll(async () => {
  await proxy.close();
  await empty.close();
});

const first = (): string => instantText(startMs);
const before = (): string => instantText(startMs - 1);

describe("malformed values, and the expected ones", () => {
  const NUMBERS =
    "|0|-1|+1|1.5|1.0|1e3|100000000000000000000|12345678901|007|01| 2|2 |2\n|0x2|1_0|2,3|2;3" +
    "|two|NaN|Infinity|٢|head";
  test.each(NUMBERS.split("|"))("publication=%j", async (text) => {
    const path = `${API}/prices?publication=${encodeURIComponent(text)}`;
    const { json } = await expectCode(proxy, path, { key: proxy.pro }, "invalid_parameter");
    expect(json.errors).toEqual([
      { parameter: "publication", value: text, detail: expect.stringMatching(/^expected .*\b1\b/) },
    ]);
    expect(json.detail).toMatch(/expected/);
  });

  const NO_INSTANT = "|x|now|2026|2026-11|2026-11-32|20261121|12:00Z|1795219500";
  const NO_ZONE =
    "2026-11-21T00:05:00|2026-11-21T00:05|2026-11-21T00:05:00.000|2026-11-21 00:05:00";
  const IN_NO_CALENDAR =
    "2026-02-30T00:00:00Z|2025-02-29T00:00:00Z|2026-13-01T00:00:00Z|2026-11-00T00:00:00Z" +
    "|2026-11-31T00:00:00Z|2026-11-21T24:00:00Z|2026-11-21T24:00Z|2026-11-21T25:00:00Z" +
    "|2026-11-21T00:60:00Z|2026-11-21T00:00:61Z|2026-11-21T00:05:00+24:00" +
    "|2026-11-21T00:05:00+00:60";
  const OTHER_FORMS =
    "2026-11-21T00:05:00 UTC|2026-11-21T00:05:00Z[UTC]|2026-11-21T00:05:00ZZ" +
    "|2026-11-21T00:05:00+2|2026-11-21T00:05:00++02:00|2026-11-21T00:05:00-0530" +
    "|Sat, 21 Nov 2026 00:05:00 GMT|21.11.2026|11/21/2026|2026-325T00:00:00Z" +
    "|2026-W47-6T00:00:00Z|+02026-11-21T00:05:00Z|-2026-11-21T00:05:00Z|2026-1-2T00:05:00Z" +
    "|2026-11-21T00:05:00Z,2026-11-21T00:05:00Z|2026-11-21T00:05:00.Z";
  const INSTANTS = [NO_INSTANT, NO_ZONE, IN_NO_CALENDAR, OTHER_FORMS].join("|").split("|");
  test.each(INSTANTS)("as_of=%j", async (text) => {
    const path = `${API}/prices?as_of=${encodeURIComponent(text)}`;
    const { json } = await expectCode(proxy, path, { key: proxy.pro }, "invalid_parameter");
    expect(json.errors).toHaveLength(1);
    expect(json.errors[0]).toMatchObject({ parameter: "as_of", value: text });
    expect(json.errors[0].detail).toMatch(/^expected .*\b(Z|zone)\b/);
  });

  test("an instant in the future, also by a millisecond", async () => {
    for (const aheadMs of [1, 1_000, 86_400_000 * 400]) {
      const text = instantText(proxy.clock.ms + aheadMs);
      const path = `${API}/prices?as_of=${text}`;
      const { json } = await expectCode(proxy, path, { key: proxy.pro }, "invalid_parameter");
      expect(json.errors[0].detail).toMatch(/future/);
    }
    const now = `${API}/prices?as_of=${instantText(proxy.clock.ms)}`;
    expect((await proxy.get(now, { key: proxy.pro })).status).toBe(200);
  });

  test("both, or one of them twice", async () => {
    const queries = [
      `publication=${HEAD}&as_of=${first()}`,
      `as_of=${first()}&publication=${HEAD}`,
      `publication=${HEAD}&publication=${HEAD}`,
      `as_of=${first()}&as_of=${first()}`,
      `publication=${HEAD}&as_of=`,
      `publication=&as_of=${first()}`,
    ];
    for (const query of queries) {
      const path = `${API}/export.csv?${query}`;
      const { json } = await expectCode(proxy, path, { key: proxy.pro }, "invalid_parameter");
      expect(json.errors[0].detail).toMatch(/expected/);
    }
  });

  test("other spellings of the names, and addresses that take none", async () => {
    const key = proxy.pro;
    for (const name of ["Publication", "AS_OF", "asof", "as-of", "publications"]) {
      await expectCode(proxy, `${API}/prices?${name}=2`, { key }, "unknown_parameter");
    }
    for (const query of ["publication=2", `as_of=${first()}`, "session=2026-11-21T12Z"]) {
      await expectCode(proxy, `${API}/usage?${query}`, { key }, "unknown_parameter");
    }
  });
});

test("every form of an instant with Z or an offset is accepted", async () => {
  const local = (offsetMinutes: number): string =>
    instantText(headMs + offsetMinutes * 60_000).slice(0, -1);
  const forms = [
    `${local(0)}Z`,
    `${local(0).slice(0, -4)}Z`,
    `${local(0).slice(0, -7)}Z`,
    `${local(0)}000000Z`,
    `${local(0)}%2B00:00`,
    `${local(0)}-00:00`,
    `${local(120)}%2B02:00`,
    // An unescaped + arrives as a space.
    `${local(120)}+02:00`,
    `${local(-330)}-05:30`,
    `${local(840)}%2B14:00`,
  ];
  for (const form of forms) {
    const { status, headers } = await proxy.get(`${API}/prices?as_of=${form}`, { key: proxy.pro });
    expect([form, status, headers["x-publication"]]).toEqual([form, 200, String(HEAD)]);
  }
  const earlier = `${API}/prices?as_of=${instantText(headMs - 1)}`;
  const { headers } = await proxy.get(earlier, { key: proxy.pro });
  expect(headers["x-publication"]).toBe("3");
});

describe("what does not exist", () => {
  const CASES: readonly (readonly [what: string, query: () => string, said: RegExp])[] = [
    ["the number after the newest", () => `publication=${HEAD + 1}`, new RegExp(`\\b${HEAD}\\b`)],
    ["a large number", () => "publication=9999999999", new RegExp(`\\b${HEAD}\\b`)],
    ["a prune's number", () => `publication=${PRUNE}`, /prune/],
    ["a millisecond before the first", () => `as_of=${before()}`, /2026-11-21T00:04:59\.999Z/],
    ["long before", () => "as_of=1970-01-01T00:00:00Z", /1970-01-01T00:00:00/],
  ];
  test.each(CASES)("%s", async (_, query, said) => {
    for (const key of [proxy.starter, proxy.pro]) {
      const path = `${API}/prices?${query()}`;
      const { json } = await expectCode(proxy, path, { key }, "not_published");
      expect(json.detail).toMatch(said);
    }
  });

  test("an entry that arrives later is found", async () => {
    const store = await publishedStore();
    const late = await startTestProxy({ store });
    try {
      const path = `${API}/prices?publication=2`;
      await expectCode(late, path, { key: late.pro }, "not_published");
      await publishSession(store, late.clock, SESSION, { usd: 12, revise: "Late report" });
      await eventually(async () => (await snapshotOf(late)) === "2026-11-21T00Z/r2");
      expect((await late.get(path, { key: late.pro })).status).toBe(200);
    } finally {
      await late.close();
    }
  });
});

describe("the order of the checks", () => {
  type Who = "starter" | "pro" | "none";
  type Case = readonly [who: Who, path: string, code: ProblemCode, status?: number];
  const CASES: readonly Case[] = [
    // By route before the parameters.
    ["none", "/prices?publication=2&x=1", "key_required"],
    ["none", `/prices/no-such?publication=x`, "key_required"],
    ["none", "/prices?as_of=", "key_required"],
    ["starter", "/export.xlsx?publication=x&as_of=y", "tier_required"],
    ["starter", "/history.parquet?publication=99", "tier_required"],
    ["starter", "/index?ids=dram-0&publication=0", "tier_required"],
    ["none", "/prices?session=x&x=1", "key_required"],
    ["starter", "/export.xlsx?session=x", "tier_required"],
    // Parameters before the log.
    ["pro", "/index?ids=dram-0&weights=x&session=2026-12-24T00Z", "invalid_parameter"],
    ["pro", "/prices/no-such?session=x", "invalid_parameter"],
    ["starter", "/history.csv?session=2026-12-24T00Z&to=x", "invalid_parameter"],
    ["pro", "/index?ids=dram-0&weights=x&publication=99", "invalid_parameter"],
    ["pro", `/index?ids=dram-0&weights=0&publication=${PRUNED}`, "invalid_parameter"],
    ["pro", "/index?weights=1&publication=99", "invalid_parameter"],
    ["pro", "/index?ids=dram-0&quantities=0&publication=99", "invalid_parameter"],
    ["pro", "/index?ids=dram-0,dram-0&as_of=1970-01-01T00:00:00Z", "invalid_parameter"],
    ["pro", "/index?ids=dram-0&publication=99&x=1", "unknown_parameter"],
    ["pro", "/prices?publication=0&x=1", "unknown_parameter"],
    ["pro", "/prices/no-such?publication=0", "invalid_parameter"],
    ["starter", "/prices?publication=1&from=2026-11-20", "unknown_parameter"],
    // The log before what the snapshot holds.
    ["pro", "/prices/no-such?publication=99", "not_published"],
    ["pro", `/prices/no-such?publication=${PRUNE}`, "not_published"],
    ["pro", "/index?ids=no-such&publication=99", "not_published"],
    ["pro", "/prices/no-such?session=2026-12-24T00Z", "not_published"],
    ["starter", "/prices/no-such?session=2026-12-24T00Z", "not_published"],
    // The depth comes before pruning. Starter's session of entry 1 is the one before Pro's.
    ["starter", "/prices/no-such?session=2026-11-20T12Z", "tier_required"],
    ["starter", "/prices?session=2026-11-21T00Z", "tier_required"],
    ["pro", "/prices/no-such?session=2026-11-21T00Z", "pruned"],
    ["pro", "/prices/no-such?session=2026-11-21T12Z", "unknown_contract"],
    // The dates come after the depth of the entry, and before pruning and the snapshot's content.
    ["starter", `/history.csv?publication=${HEAD}&to=2026-11-30&ids=no-such`, "tier_required"],
    ["pro", `/history.csv?publication=${PRUNED}&to=1999-01-01&ids=no-such`, "pruned"],
    ["starter", "/prices/no-such?publication=2", "tier_required"],
    ["starter", `/prices?publication=${PRUNED}`, "tier_required"],
    // Pruning comes before the snapshot's content.
    ["pro", `/prices/no-such?publication=${PRUNED}`, "pruned"],
    ["pro", `/index?ids=no-such&publication=${PRUNED}`, "pruned"],
    // What the snapshot holds.
    ["pro", "/prices/no-such?publication=2", "unknown_contract"],
    ["pro", `/prices/${NEVER}?publication=2`, "not_on_board"],
    ["pro", "/index?ids=no-such&publication=2", "unknown_contract", 400],
    ["pro", `/index?ids=${YOUNG}&publication=2`, "no_base_level"],
    ["pro", `/index?ids=${DROPPED}&publication=2`, "unknown_contract", 400],
  ];
  for (const [who, path, code, status] of CASES) {
    test(`${who} ${path}: ${code}`, async () => {
      const options = who === "none" ? {} : { key: proxy[who] };
      const { json } = await expectCode(proxy, API + path, options, code, status);
      if (code === "tier_required") expect(json.required_tier).toBe("pro");
      // The first date within the depth, by the session of the head or, for dates, of the entry.
      if (code === "tier_required" && /session=2|publication=\d.*to=/.test(path)) {
        expect(json.history_from).toBe("2026-12-02");
      }
    });
  }

  test("keys before all, and 503 no_session before parameters", async () => {
    const invalid = `cbk_${"0".repeat(49)}`;
    await expectCode(proxy, `${API}/prices?publication=x`, { key: invalid }, "invalid_key");
    await expectCode(proxy, `${API}/prices?publication=${invalid}`, {}, "key_in_query");
    for (const query of ["publication=x", "publication=1", "as_of=", "publication=1&x=2"]) {
      await expectCode(empty, `${API}/prices?${query}`, { key: empty.pro }, "no_session");
    }
    await expectCode(empty, `${API}/prices?publication=x`, {}, "key_required");
  });

  test("the limits of the log before the quota, and the quota before 304 and 416", async () => {
    const path = `${API}/export.csv?publication=${HEAD}`;
    const beyond = { range: "bytes=99999999-" };
    const ask = async (of: TestProxy, key: string): Promise<Record<string, string>> => ({
      "if-none-match": (await of.get(path, { key })).headers.etag as string,
    });
    const both = { ...(await ask(proxy, proxy.pro)), ...beyond };
    expect((await proxy.get(path, { key: proxy.pro, headers: both })).status).toBe(304);
    const none = { key: proxy.pro, headers: beyond };
    await expectCode(proxy, path, none, "range_not_satisfiable");

    const state = await mkdtemp(join(tmpdir(), "chipboard-vintages-"));
    const spent = await startTestProxy({ store: proxy.store, clock: proxy.clock, state });
    try {
      const key = spent.starter;
      const tag = await ask(spent, key);
      const accounts = await openAccounts(state, spent.clock);
      const { account_id } = await spent.registry.account("small");
      const takes = Array.from({ length: 25_000 }, async () =>
        accounts.counts.take(`account:${account_id}`, 25_000, spent.clock.ms),
      );
      await Promise.all(takes);
      await accounts.close();
      await expectCode(spent, path, { key, headers: tag }, "quota_exceeded");
      await expectCode(spent, path, { key, headers: beyond }, "quota_exceeded");
      await expectCode(spent, `${API}/prices?publication=99`, { key }, "not_published");
      await expectCode(spent, `${API}/prices?publication=2`, { key }, "tier_required");
      await expectCode(spent, `${API}/prices/no-such?publication=3`, { key }, "quota_exceeded");
      const other = { key: spent.pro, headers: { "if-match": '"other"' } };
      await expectCode(spent, `${API}/prices/no-such?publication=3`, other, "precondition_failed");
      const named = `${API}/indices/Composite?publication=3`;
      const { headers } = await spent.get(named, { key: spent.pro });
      const own = { key: spent.pro, headers: { "if-match": String(headers.etag) } };
      expect((await spent.get(named, own)).status).toBe(200);
      const since = {
        "if-none-match": '"x"',
        "if-unmodified-since": "Mon, 01 Jan 2024 00:00:00 GMT",
      };
      const dated = { key: spent.pro, headers: since };
      await expectCode(spent, `${API}/prices/no-such?publication=3`, dated, "unknown_contract");
      const any = { key: spent.pro, headers: { "if-match": "*" } };
      await expectCode(spent, `${API}/prices/no-such?publication=3`, any, "unknown_contract");
    } finally {
      await spent.close();
      await rm(state, { recursive: true, force: true });
    }
  });
});
