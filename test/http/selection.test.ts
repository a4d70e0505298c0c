/**
 * Selections over a real socket: each is the whole file, read by a library and filtered by a naive
 * program; every tier, live and old.
 */
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fc, test as property } from "@fast-check/vitest";
import { publishGolden } from "../golden/golden-market.ts";
import { publishRaw, splitInput } from "../property/published.ts";
import { rawCases } from "../property/raw-markets.ts";
import { catalogOf, lines, mustPublish, quotesOf } from "../cli/small-market.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { CallOptions, Received } from "./client.ts";
import { startTestProxy, TestClock, type TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";
import { runs } from "../property/runs.ts";

const API = "/api/public/v1";
const IDS = ["alpha-16gb", "bravo-8gb", "charlie-1tb", "delta-old", "echo-stack", "foxtrot-gpu"];
/** What one of them is called in the newest entry, and in those before. */
const RENAMED = ["echo-stack", "echo-new"];
const BOARD = IDS.filter((id) => id !== "delta-old");
const SEGMENTS = ["dram", "ssd", "hbm", "gpu", "nor"];

let proxy: TestProxy;
beforeAll(async () => {
  const store = new MemoryStore();
  await publishGolden(store);
  proxy = await startTestProxy({
    store,
    clock: new TestClock(Date.parse("2026-11-21T00:30:00Z")),
    publicUrl: "https://prices.example.com",
  });
});
afterAll(() => proxy.close());

const get = (path: string, options: CallOptions = {}) => proxy.get(`${API}${path}`, options);

interface Asked {
  readonly ids: readonly string[] | null;
  readonly segment: readonly string[] | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly last: number | null;
  readonly after: number | null;
}
const NONE: Asked = { ids: null, segment: null, from: null, to: null, last: null, after: null };

const queryOf = (asked: Asked, more: Record<string, string>): string =>
  new URLSearchParams([
    ...Object.entries(asked).flatMap(([name, value]): [string, string][] =>
      value === null ? [] : [[name, Array.isArray(value) ? value.join() : String(value)]],
    ),
    ...Object.entries(more),
  ]).toString();

type Item = Record<string, string>;

/** The items that are asked for: by contract or index, then by date, then the last ones of each. */
function naive(items: readonly Item[], asked: Asked, idsOf: ReadonlySet<string> | null): Item[] {
  const idOf = (item: Item): string => item["contract_id"] ?? item["index_id"] ?? item["id"] ?? "";
  const dateOf = (item: Item): string => (item["date"] ?? item["session_utc"] ?? "").slice(0, 10);
  const kept = items.filter(
    (item) =>
      (idsOf === null || idsOf.has(idOf(item))) &&
      (asked.from === null || dateOf(item) >= asked.from) &&
      (asked.to === null || dateOf(item) <= asked.to),
  );
  if (asked.last === null) return kept;
  const { last } = asked;
  return kept.filter((item, at) => {
    const later = kept.slice(at + 1).filter((other) => idOf(other) === idOf(item));
    return later.length < last;
  });
}

/**
 * Whether Starter is refused, because the dates end before its history begins. They are never before Pro's
 * history. `whole` is the answer without them.
 */
function isTooEarly(asked: Pick<Asked, "to">, whole: Received, part: Received): boolean {
  const from = whole.headers["x-history-from"] as string;
  const isEarly =
    asked.to !== null && asked.to < from && whole.headers["x-delayed-sessions"] === "1";
  if (isEarly) {
    const { code, required_tier, history_from } = part.json;
    expect([part.status, code, required_tier, history_from]).toEqual([
      403,
      "tier_required",
      "pro",
      from,
    ]);
  }
  return isEarly;
}

const date = fc
  .integer({ min: Date.parse("2025-10-01") / 864e5, max: Date.parse("2026-12-01") / 864e5 })
  .map((day) => new Date(day * 864e5).toISOString().slice(0, 10));
const dates = fc
  .record({
    from: fc.option(date),
    to: fc.option(date),
    last: fc.option(fc.integer({ min: 1, max: 9 })),
  })
  .filter(({ from, to }) => from === null || to === null || from <= to);
const some = (items: readonly string[]) =>
  fc.uniqueArray(fc.constantFrom(...items), { minLength: 1, maxLength: items.length });
/** A contract also by the id of another time, a segment also by its name in any case. */
const contracts = (ids: readonly string[]) =>
  fc.oneof(
    fc.constant({ ids: null, segment: null }),
    fc.tuple(some(ids), fc.constantFrom(...RENAMED)).map(([chosen, name]) => ({
      ids: chosen.map((id) => (RENAMED.includes(id) ? name : id)),
      segment: null,
    })),
    fc.tuple(some(SEGMENTS), fc.nat(3)).map(([chosen, at]) => ({
      ids: null,
      segment: chosen.map((id) => id.slice(0, at) + id.slice(at).toUpperCase()),
    })),
  );
/** The member about the id of another time, if one was asked for; `present` has the ids of the answer's time. */
function askedMember(ids: readonly string[] | null, present: ReadonlySet<string>): object {
  const asked = ids?.find((id) => RENAMED.includes(id) && !present.has(id));
  const id = RENAMED.find((each) => present.has(each));
  return asked === undefined ? {} : { asked: [{ asked, id }] };
}
/** The ids of these contracts at any time. */
const everyIdOf = (ids: readonly string[] | null): Set<string> | null =>
  ids && new Set(ids.flatMap((id) => (RENAMED.includes(id) ? RENAMED : [id])));
const tier = fc.constantFrom("starter" as const, "pro" as const);
/** The head, and entries of the log that changed levels, the catalog and the head. */
const vintage = fc.constantFrom(
  {},
  { publication: "8" },
  { publication: "6" },
  { publication: "10" },
);

/** The ids of a segment, by the catalog's names. */
async function idsIn(segments: readonly string[], more: Item, key: string): Promise<Set<string>> {
  const { text } = await get(`/export.csv?${new URLSearchParams(more).toString()}`, { key });
  const rows: Item[] = parse(text, { columns: true });
  const { json } = await get("/indices", { key });
  const wantedIds = segments.map((segment) => segment.toLowerCase());
  const names = json.indices.filter((index: Item) => wantedIds.includes(index["id"] as string));
  const wanted = new Set(names.map((index: Item) => index["name"]));
  const segmentOf = new Map(rows.map((row) => [row["contract_id"], row["segment"]]));
  // No longer on the boards.
  segmentOf.set("delta-old", "NOR");
  return new Set([...segmentOf].filter(([, name]) => wanted.has(name)).map(([id]) => id ?? ""));
}

const RUNS = runs(40);

describe("equal to the whole, filtered", () => {
  property.prop([tier, vintage, contracts(IDS), dates], RUNS)(
    "history.csv, levels.csv and superseded.csv",
    async (who, when, which, within) => {
      const key = proxy[who];
      const paths = ["/history.csv", "/levels.csv", ...(who === "pro" ? ["/superseded.csv"] : [])];
      for (const path of paths) {
        const isEnded = path === "/superseded.csv";
        const asked = { ...NONE, ...which, ...within, ...(isEnded && { last: null }) };
        const whole = await get(`${path}?${new URLSearchParams(when).toString()}`, { key });
        const chosen = await get(`${path}?${queryOf(asked, when)}`, { key });
        if (isTooEarly(asked, whole, chosen)) continue;
        const ids =
          asked.segment === null ? everyIdOf(asked.ids) : await idsIn(asked.segment, when, key);
        const expected = naive(parse(whole.text, { columns: true }), asked, ids);
        expect([chosen.status, parse(chosen.text, { columns: true })]).toEqual([200, expected]);
        const lines = new Set(whole.text.split("\r\n"));
        expect(chosen.text.split("\r\n").filter((line) => !lines.has(line))).toEqual([]);
      }
    },
  );

  property.prop([tier, vintage, some(["composite", ...SEGMENTS]), dates], RUNS)(
    "indices.csv",
    async (who, when, ids, within) => {
      const key = proxy[who];
      const asked = { ...NONE, ids, ...within };
      const whole = await get(`/indices.csv?${new URLSearchParams(when).toString()}`, { key });
      const chosen = await get(`/indices.csv?${queryOf(asked, when)}`, { key });
      if (isTooEarly(asked, whole, chosen)) return;
      const expected = naive(parse(whole.text, { columns: true }), asked, new Set(ids));
      expect(parse(chosen.text, { columns: true })).toEqual(expected);
    },
  );

  property.prop([vintage, some(["composite", ...SEGMENTS]), dates], RUNS)(
    "members.csv, by the intervals that touch the days",
    async (when, ids, { from, to }) => {
      const key = proxy.pro;
      const asked = { ...NONE, ids, from, to };
      const whole = await get(`/members.csv?${new URLSearchParams(when).toString()}`, { key });
      const chosen = await get(`/members.csv?${queryOf(asked, when)}`, { key });
      if (isTooEarly(asked, whole, chosen)) return;
      const rows: Item[] = parse(whole.text, { columns: true });
      expect(rows.length).toBeGreaterThan(10);
      const expected = rows.filter((row) => {
        const end = row["to"] === "" ? "9999-12-31" : (row["to"] as string);
        const isNamed = ids === null || ids.includes(row["index_id"] as string);
        return isNamed && (row["from"] as string) <= (to ?? "9999-12-31") && end >= (from ?? "");
      });
      expect(parse(chosen.text, { columns: true })).toEqual(expected);
    },
  );

  property.prop([tier, vintage, contracts(BOARD)], RUNS)(
    "boards, their CSV and sparklines",
    async (who, when, which) => {
      const key = proxy[who];
      const asked = { ...NONE, ...which };
      if (asked.ids === null && asked.segment === null) return;
      const whole = new URLSearchParams(when).toString();
      const query = queryOf(asked, when);
      const [board, chosen] = [
        await get(`/prices?${whole}`, { key }),
        await get(`/prices?${query}`, { key }),
      ];
      if (chosen.status !== 200) {
        // Older entries have no level of it.
        expect(chosen.json.code).toBe("not_on_board");
        return;
      }
      const ids =
        asked.segment === null ? everyIdOf(asked.ids) : await idsIn(asked.segment, when, key);
      const memory = naive(board.json.memory, asked, ids);
      const semiconductor = naive(board.json.semiconductor, asked, ids);
      const counts = { memory: memory.length, semiconductor: semiconductor.length };
      const present = new Set<string>(
        [...board.json.memory, ...board.json.semiconductor].map((item: Item) => item["id"] ?? ""),
      );
      const told = askedMember(asked.ids, present);
      expect(chosen.json).toEqual({ ...board.json, ...told, counts, memory, semiconductor });
      const csv = await get(`/export.csv?${whole}`, { key });
      const rows = await get(`/export.csv?${query}`, { key });
      expect(parse(rows.text, { columns: true })).toEqual(
        naive(parse(csv.text, { columns: true }), asked, ids),
      );
      const lines = await get(`/sparklines?${whole}`, { key });
      const some = await get(`/sparklines?${query}`, { key });
      const sparklines = naive(lines.json.sparklines, asked, ids);
      const days = naive(lines.json.days, asked, ids);
      expect(some.json).toEqual({ ...lines.json, ...told, sparklines, days, indices: [] });
    },
  );

  property.prop([tier, vintage, fc.constantFrom(...IDS), dates], RUNS)(
    "a contract's and an index's history",
    async (who, when, id, within) => {
      const key = proxy[who];
      const asked = { ...NONE, ...within };
      if (Object.values(within).every((value) => value === null)) return;
      const whole = await get(`/prices/${id}?${new URLSearchParams(when).toString()}`, { key });
      const chosen = await get(`/prices/${id}?${queryOf(asked, when)}`, { key });
      if (whole.status === 200 && isTooEarly(asked, whole, chosen)) return;
      // An id of another time is a redirect, which has no body.
      if (whole.status !== 200 && chosen.json?.code === "tier_required") {
        // The depth comes before what the snapshot holds.
        expect([who, String(asked.to) < "2026-08-24"]).toEqual(["starter", true]);
        return;
      }
      expect([chosen.status, chosen.json?.code]).toEqual([whole.status, whole.json?.code]);
      if (whole.status !== 200) return;
      const history = naive(whole.json.history, asked, null);
      const first = history[0]?.["date"] ?? null;
      const window = { ...NONE, from: first, to: asked.to };
      const within2 = (items: Item[]): Item[] => (first === null ? [] : naive(items, window, null));
      expect(chosen.json).toEqual({
        ...whole.json,
        history,
        breaks: within2(whole.json.breaks),
        corrections: naive(whole.json.corrections, { ...NONE, to: asked.to }, null),
      });
      const index = await get("/indices/dram", { key });
      const part = await get(`/indices/dram?${queryOf(asked, {})}`, { key });
      if (isTooEarly(asked, index, part)) return;
      const series = {
        ...index.json.series,
        history: naive(index.json.series.history, asked, null),
      };
      expect(part.json).toEqual({ ...index.json, series });
    },
  );

  property.prop([tier, contracts(IDS), fc.integer({ min: 0, max: 12 })], RUNS)(
    "corrections",
    async (who, which, after) => {
      const key = proxy[who];
      const [whole, chosen] = [
        await get("/corrections", { key }),
        await get(`/corrections?${queryOf({ ...NONE, ...which, after }, {})}`, { key }),
      ];
      const { json: log } = await get("/publications?limit=100", { key });
      const numbers = new Map<string, number>();
      for (const { number, action, snapshot } of log.publications) {
        if (action !== "prune" && number < (numbers.get(snapshot) ?? Infinity))
          numbers.set(snapshot, number);
      }
      const ids =
        which.segment === null ? everyIdOf(which.ids) : await idsIn(which.segment, {}, key);
      const corrections = naive(whole.json.corrections, NONE, ids).filter(
        (item) => (numbers.get(item["corrected_in"] as string) as number) > after,
      );
      const told = askedMember(which.ids, new Set(RENAMED.slice(0, 1)));
      expect(chosen.json).toEqual({ ...whole.json, ...told, corrections });
    },
  );
});

describe("over generated markets", () => {
  const days = fc.option(fc.integer({ min: -2, max: 800 }));
  const chosen = fc.record({
    ids: fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 4 }),
    segment: fc.constantFrom(null, null, "DRAM", "NAND"),
    within: fc
      .record({ from: days, to: days, last: fc.option(fc.integer({ min: 1, max: 5 })) })
      .filter(({ from, to }) => from === null || to === null || from >= to),
  });

  property.prop([rawCases, fc.array(chosen, { minLength: 3, maxLength: 3 })], runs(20))(
    "every tier, live and old",
    async ({ raw, sessionUtc }, choices) => {
      const store = new MemoryStore();
      const input = splitInput(raw, sessionUtc, false);
      await publishRaw(
        store,
        { ...input, contracts: raw.contracts, maxCarryDays: raw.max_carry_days },
        sessionUtc,
      );
      const nowMs = Date.parse(sessionUtc) + 1_800_000;
      const market = await startTestProxy({ store, clock: new TestClock(nowMs) });
      const dayBefore = (count: number | null): string | null =>
        count === null ? null : new Date(nowMs - count * 864e5).toISOString().slice(0, 10);
      try {
        for (const { ids: places, segment, within } of choices) {
          const all = raw.contracts.map(({ id }) => id);
          const ids = [...new Set(places.map((place) => all[place % all.length] as string))];
          const asked = {
            ...NONE,
            ...(segment === null ? { ids } : { segment: [segment.toLowerCase()] }),
          };
          const dates = { from: dayBefore(within.from), to: dayBefore(within.to) };
          const wanted = new Set(
            segment === null
              ? ids
              : raw.contracts.filter((each) => each.segment === segment).map(({ id }) => id),
          );
          for (const [key, when] of [
            [undefined, {}],
            [market.starter, {}],
            [market.starter, { publication: "1" }],
            [market.pro, {}],
            [market.pro, { publication: "1" }],
          ] as const) {
            const read = (path: string, query: string) =>
              market.get(`${API}${path}?${query}`, key === undefined ? {} : { key });
            const wholeQuery = new URLSearchParams(when).toString();
            const board = await read("/prices", wholeQuery);
            expect(board.status).toBe(200);
            const listed: Item[] = [...board.json.memory, ...board.json.semiconductor];
            const isListed = (id: string): boolean => listed.some((item) => item["id"] === id);
            const isHidden = (id: string): boolean =>
              key === undefined && raw.contracts.some((each) => each.id === id && !each.free);
            const some = await read("/prices", queryOf(asked, when));
            if (wanted.size === 0) {
              expect(some.json.code).toBe("unknown_index");
              continue;
            }
            if (segment === null && !ids.every(isListed)) {
              const code = ids.some(isHidden) ? "key_required" : "not_on_board";
              expect(some.json.code).toBe(code);
            } else {
              const memory = naive(board.json.memory, asked, wanted);
              const semiconductor = naive(board.json.semiconductor, asked, wanted);
              const counts = { memory: memory.length, semiconductor: semiconductor.length };
              expect(some.json).toEqual({ ...board.json, counts, memory, semiconductor });
            }
            if (key === undefined) continue;
            const dated = { ...asked, ...dates, last: within.last };
            for (const path of ["/history.csv", "/levels.csv"]) {
              const whole = await read(path, wholeQuery);
              const part = await read(path, queryOf(dated, when));
              if (isTooEarly(dated, whole, part)) continue;
              expect(part.status, part.text).toBe(200);
              expect(parse(part.text, { columns: true })).toEqual(
                naive(parse(whole.text, { columns: true }), dated, wanted),
              );
            }
          }
        }
      } finally {
        await market.close();
      }
    },
  );
});

describe("as an answer", () => {
  test("has a tag of its own for the same lines, whatever the order; 304, HEAD and digest", async () => {
    const key = proxy.pro;
    const one = await get("/prices?ids=alpha-16gb,bravo-8gb", { key });
    const other = await get("/prices?ids=bravo-8gb,alpha-16gb", { key });
    const whole = await get("/prices", { key });
    expect(other.headers["etag"]).toBe(one.headers["etag"]);
    expect(whole.headers["etag"]).not.toBe(one.headers["etag"]);
    expect(other.text).toBe(one.text);
    const headers = { "if-none-match": String(one.headers["etag"]) };
    expect((await get("/prices?ids=alpha-16gb,bravo-8gb", { key, headers })).status).toBe(304);
    const head = await get("/prices?ids=alpha-16gb", { key, method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
    expect(one.headers["accept-ranges"]).toBeUndefined();
  });

  test("depends on its own request alone, not on those before it", async () => {
    const name = "A&to=2026-11-13";
    const store = new MemoryStore();
    await mustPublish(store, {
      catalog: catalogOf([
        { id: "a", segment: "A" },
        { id: "b", segment: name },
      ]),
      closes: lines("id,date,close_usd", "a,2026-11-13,9", "b,2026-11-13,19"),
      quotes: quotesOf({ a: 10, b: 20 }),
    });
    const market = await startTestProxy({ store });
    const rowsOf = async (query: string, tag = "") => {
      const headers = { "if-none-match": tag };
      const options = { key: market.pro, headers };
      const {
        status,
        text,
        headers: fields,
      } = await market.get(`${API}/levels.csv?${query}`, options);
      const ids = text.split("\n").flatMap((row) => /^[ab](?=,)/.exec(row) ?? []);
      return { status, ids, tag: String(fields["etag"]) };
    };
    try {
      const one = await rowsOf("segment=A&to=2026-11-13");
      const other = await rowsOf(`segment=${encodeURIComponent(name)}`, one.tag);
      expect([one.ids, other.ids]).toEqual([["a"], ["b", "b"]]);
      // One of the two ids is none.
      for (const [right, wrong] of [
        ["ids=a&last=1", "ids=a%26last%3D1"],
        ["ids=a,b", "ids=a%22%2C%22b"],
        ["ids=a&to=2026-11-13", "ids=a%22%5D%2C%5B%22to%22%2C%222026-11-13"],
      ] as const) {
        for (const query of [wrong, right, wrong]) {
          expect([query, (await rowsOf(query)).status]).toEqual([
            query,
            query === right ? 200 : 400,
          ]);
        }
      }
    } finally {
      await market.close();
    }
  });

  test("of a contract has its corrections, whatever closes it has", async () => {
    const store = new MemoryStore();
    const catalog = catalogOf(["a"]);
    const closes = lines(
      "id,date,close_usd",
      "a,2026-11-12,9",
      "a,2026-11-13,10",
      "a,2026-11-14,11",
    );
    await mustPublish(store, {
      session: "2026-11-20T12Z",
      catalog,
      closes,
      quotes: quotesOf({ a: 11 }),
    });
    const changed = lines("id,date,close_usd", "a,2026-11-12,9.5", "a,2026-11-14,11.5");
    await mustPublish(store, {
      closes: changed,
      quotes: quotesOf({ a: 11 }),
      revise: "Typing",
      acceptMoves: true,
    });
    const market = await startTestProxy({ store });
    const of = async (query: string) => {
      const { json } = await market.get(`${API}/prices/a${query}`, { key: market.pro });
      const days = json.corrections.map((item: Item) => item["session_utc"]?.slice(0, 10));
      return [json.history.length, days];
    };
    const both = ["2026-11-12", "2026-11-14"];
    try {
      expect(await of("")).toEqual([5, both]);
      expect(await of("?last=1")).toEqual([1, both]);
      expect(await of("?from=2026-11-20&last=1")).toEqual([1, both]);
      expect(await of("?from=2026-12-01")).toEqual([0, both]);
      expect(await of("?from=2026-11-13&to=2026-11-13")).toEqual([1, both.slice(0, 1)]);
      expect(await of("?to=2026-11-01")).toEqual([0, []]);
    } finally {
      await market.close();
    }
  });

  test("costs a call", async () => {
    const before = Number(
      (await get("/prices", { key: proxy.starter })).headers["x-ratelimit-remaining"],
    );
    const { headers } = await get("/prices?ids=alpha-16gb", { key: proxy.starter });
    expect(Number(headers["x-ratelimit-remaining"])).toBe(before - 1);
  });

  test("as_of takes a date: the head at its end, or now; a day that has not begun is refused", async () => {
    const key = proxy.pro;
    const of = async (text: string) => (await get(`/prices?as_of=${text}`, { key })).text;
    expect(await of("2026-11-19")).toBe(await of("2026-11-19T23:59:59.999Z"));
    expect(await of("2026-11-21")).toBe((await get("/prices", { key })).text);
    const tomorrow = await get("/prices?as_of=2026-11-22", { key });
    expect([tomorrow.status, tomorrow.json.code]).toEqual([400, "invalid_parameter"]);
  });

  test("an address that moved keeps the query", async () => {
    const { status, headers } = await get("/prices/echo-new?last=2", { key: proxy.pro });
    expect([status, headers["location"]]).toEqual([308, `${API}/prices/echo-stack?last=2`]);
  });
});

describe("refused", () => {
  const CASES: [string, string][] = [
    ["/prices?ids=", "invalid_parameter"],
    ["/prices?ids=alpha-16gb,alpha-16gb", "invalid_parameter"],
    ["/prices?ids=alpha-16gb&segment=dram", "invalid_parameter"],
    ["/prices?segment=composite", "unknown_index"],
    ["/prices?segment=Composite", "unknown_index"],
    ["/prices?segment=dram,DRAM", "invalid_parameter"],
    ["/prices?ids=echo-stack,echo-new", "invalid_parameter"],
    ["/prices?last=1", "unknown_parameter"],
    ["/prices/alpha-16gb?from=2026-02-30", "invalid_parameter"],
    ["/prices/alpha-16gb?from=2026-03-02&to=2026-03-01", "invalid_parameter"],
    ["/prices/alpha-16gb?last=0", "invalid_parameter"],
    ["/prices/alpha-16gb?last=2001", "invalid_parameter"],
    ["/prices/alpha-16gb?ids=alpha-16gb", "unknown_parameter"],
    ["/corrections?after=-1", "invalid_parameter"],
    ["/indices.csv?ids=nothing", "unknown_index"],
    ["/indices.csv?ids=DRAM", "unknown_index"],
    ["/history.csv?ids=nothing", "unknown_contract"],
    ["/prices?ids=delta-old", "not_on_board"],
    ["/sparklines?ids=delta-old", "not_on_board"],
  ];
  test.each(CASES)("%s: %s", async (path, code) => {
    const { status, json } = await get(path, { key: proxy.pro });
    expect([status, json.code]).toEqual([400, code]);
  });

  test("faults of form come before unknown ids, and name all", async () => {
    const { json } = await get("/history.csv?ids=nope&from=x&last=y", { key: proxy.pro });
    expect([json.code, json.errors.map(({ parameter }: Item) => parameter)]).toEqual([
      "invalid_parameter",
      ["from", "last"],
    ]);
  });

  test("unknown ids get suggestions: by case or ticker, then by distance", async () => {
    const { json } = await get("/prices?ids=ALPHA,alhpa-16gb,nothing-near,brvo-8gb", {
      key: proxy.pro,
    });
    expect(json.errors.map((item: { did_you_mean?: string[] }) => item.did_you_mean)).toEqual([
      ["alpha-16gb"],
      ["alpha-16gb"],
      undefined,
      undefined,
    ]);
    const address = await get("/prices/bravo-8bg", { key: proxy.pro });
    expect([address.status, address.json.did_you_mean]).toEqual([404, ["bravo-8gb"]]);
  });

  test("without a key: dates need one before they are read, and the free slice is what there is", async () => {
    await expectCode(proxy, `${API}/prices/alpha-16gb?last=x`, {}, "key_required");
    await expectCode(proxy, `${API}/prices?last=x`, {}, "unknown_parameter");
    const { status, json } = await get("/prices?ids=alpha-16gb");
    expect([status, json.counts]).toEqual([200, { memory: 1, semiconductor: 0 }]);
    const refused = await get("/history.csv?ids=alpha-16gb");
    expect([refused.status, refused.json.plans]).toEqual([401, "https://prices.example.com/plans"]);
  });
});
