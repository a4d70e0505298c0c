/** `--hold`, `--hold-invalid`, `--ignore-unknown` and `--round`: rows that are left out, and levels that are rounded. */
import { describe, expect, test } from "vitest";
import type { Judgement } from "../../src/snapshot/judgement.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf, tryPublish } from "./small-market.ts";
import { failure, NOON, published } from "./two-sessions.ts";

const levels = async (store: MemoryStore): Promise<unknown> =>
  (await headJson(store, "pro/board.json")).memory.map((row: Record<string, unknown>) => [
    row["id"],
    row["spot_usd"],
    row["basis"],
  ]);
/** Without by and why. */
const judgements = async (store: MemoryStore): Promise<unknown> =>
  (await headJson(store, "manifest.json")).judgements.map(
    ({ gate, contract, measured, limit }: Judgement) => ({ gate, contract, measured, limit }),
  );

describe("--hold", () => {
  test.each([
    ["CSV", lines("id,spot_usd,basis", "a,-3,guessed", "b,6,", "a,1e9,")],
    ["JSON", '[{"id":"a","spot_usd":[1],"other":2},{"id":"b","spot_usd":6},{"id":"a"}]'],
    ["NDJSON", '{"id":"a","spot_usd":"much"}\n{"id":"b","spot_usd":6}\n{"id":"a","spot_usd":0}'],
  ])("leaves out the rows of these contracts, whatever they hold: %s", async (_, quotes) => {
    const store = await published();
    const run = { session: NOON, quotes, minCoverageMicros: 0 };
    expect((await failure(store, run)).code).toBe(2);
    await mustPublish(store, { ...run, hold: ["a"] });
    expect(await levels(store)).toEqual([
      ["a", 12, "carried"],
      ["b", 6, "reported"],
    ]);
    expect(await judgements(store)).toEqual([
      { gate: "held", contract: "a", measured: 2, limit: null },
    ]);
  });

  test("also closes; a contract without rows gets no judgement", async () => {
    const store = await published();
    const closes = lines("id,date,close_usd", "a,never,1");
    const quotes = quotesOf({ b: 6 });
    await mustPublish(store, {
      session: NOON,
      closes,
      quotes,
      hold: ["a", "b"],
      allowSparse: true,
    });
    expect(await judgements(store)).toEqual([
      { gate: "sparse", contract: null, measured: 0, limit: 80 },
      { gate: "held", contract: "b", measured: 1, limit: null },
      { gate: "held", contract: "a", measured: 1, limit: null },
    ]);
  });

  test("an id that the catalog does not know: 2, in one go with the other errors", async () => {
    const store = await published();
    const quotes = lines("id,spot_usd", "a,-1", "b,6");
    const { code, said } = await failure(store, { session: NOON, quotes, hold: ["b", "zebra"] });
    expect([code, said.slice(1).toSorted()]).toEqual([
      2,
      [
        '--hold "zebra": expected a contract of the catalog',
        expect.stringMatching(/^quotes\.csv:2 spot_usd "-1"/),
      ],
    ]);
    const catalog = catalogOf(["b"]);
    const run = { session: NOON, catalog, quotes: quotesOf({ b: 6 }), hold: ["a"] };
    expect((await failure(store, run)).said[1]).toContain('--hold "a"');
  });
});

describe("--hold-invalid", () => {
  const held = (contract: string, measured: number) => ({
    gate: "held",
    contract,
    measured,
    limit: null,
  });
  const run = { session: NOON, minCoverageMicros: 50_000_000, holdInvalid: true };

  test.each([
    ["CSV", lines("id,spot_usd,basis", "a,NaN,", "b,6,", "a,13,guessed")],
    ["CSV, another cell", lines("id,spot_usd,inputs,session_utc", "a,13,1.5,", "b,6,,", "a,1,,x")],
    ["JSON", '[{"id":"a","spot_usd":[1]},{"id":"b","spot_usd":6},{"id":"a"}]'],
    [
      "JSON with a field twice",
      '[{"id":"a","spot_usd":1,"spot_usd":2},{"id":"b","spot_usd":6},{"id":"a"}]',
    ],
    ["NDJSON", '{"id":"a","spot_usd":null}\n{"id":"b","spot_usd":6}\n{"id":"a","spot_usd":"NaN"}'],
  ])("leaves out the rows that cannot be read: %s", async (_, quotes) => {
    const store = await published();
    expect((await failure(store, { ...run, quotes, holdInvalid: false })).code).toBe(2);
    await mustPublish(store, { ...run, quotes });
    expect(await levels(store)).toEqual([
      ["a", 12, "carried"],
      ["b", 6, "reported"],
    ]);
    expect(await judgements(store)).toEqual([held("a", 2)]);
    expect((await tryPublish(store, { ...run, quotes })).result?.outcome).toBe("unchanged");
  });

  test("and keeps the other rows of the contract, also closes", async () => {
    const store = await published();
    const closes = lines("id,date,close_usd", "a,2026-11-18,-", "a,2026-11-17,9", "b,never,1");
    await mustPublish(store, { ...run, closes, quotes: quotesOf({ a: 13, b: 6 }) });
    expect((await headJson(store, "pro/contracts/a.json")).history[0].date).toBe("2026-11-17");
    expect(await judgements(store)).toEqual([held("a", 1), held("b", 1)]);
  });

  test("names rows for later sessions as such, also beside an empty cell", async () => {
    const store = await published();
    const quotes = lines("id,spot_usd,session_utc", "a,,", "b,6,", "b,7,2026-11-22T00Z");
    const closes = lines("id,date,close_usd", "b,2026-11-30,", "a,2026-12-01,1", "b,x,1");
    const { said } = await failure(store, { ...run, quotes, closes, holdInvalid: false });
    const later = /not later than the one published, 2026-11-21T12Z$/;
    expect(said.slice(1)).toEqual([
      expect.stringMatching(/^quotes\.csv:2 spot_usd "": .* --hold-invalid leaves such rows out$/),
      expect.stringMatching(new RegExp(`^quotes\\.csv:4 session_utc .*${later.source}`)),
      expect.stringMatching(/^closes\.csv:2 close_usd "": .* --hold-invalid leaves such rows out$/),
      expect.stringMatching(new RegExp(`^closes\\.csv:2 date .*${later.source}`)),
      expect.stringMatching(new RegExp(`^closes\\.csv:3 date .*${later.source}`)),
      expect.stringMatching(/^closes\.csv:4 date "x": expected a date such as/),
    ]);
    await mustPublish(store, { ...run, quotes, closes });
    expect(await judgements(store)).toEqual([
      held("a", 1),
      held("b", 1),
      { ...held("b", 2), gate: "later" },
      { ...held("a", 1), gate: "later" },
    ]);
  });

  test("the gate sparse bounds it", async () => {
    const store = await published();
    const quotes = lines("id,spot_usd", "a,NaN", "b,NaN");
    const { code, said } = await failure(store, { ...run, quotes });
    expect([code, said[1]]).toEqual([3, expect.stringMatching(/^0 of 2 contracts have a level/)]);
    const usual = { ...run, minCoverageMicros: 80_000_000 };
    const half = lines("id,spot_usd", "a,NaN", "b,6");
    expect((await failure(store, { ...usual, quotes: half })).code).toBe(3);
  });

  test.each([
    ["of an unknown id", lines("id,spot_usd", "x,NaN", "b,6"), 'quotes.csv:2 id "x": expected a'],
    ["of no id", lines("id,spot_usd", ",NaN", "b,6"), 'quotes.csv:2 id "": expected a contract'],
    [
      "without an id",
      '[{"spot_usd":"x"},{"id":"b","spot_usd":6}]',
      'quotes.json[0]: the field "id"',
    ],
    [
      "with two ids",
      '[{"id":"x","id":"a","spot_usd":1},{"id":"b","spot_usd":6}]',
      'quotes.json[0]: the field "id" appears twice',
    ],
    ["with an unknown column", lines("id,spot_usd,x", "b,6,1"), "quotes.csv:1: unknown column"],
    ["with an unknown field", '[{"id":"b","spot_usd":6,"x":1}]', "quotes.json[0]: unknown field"],
    ["with a cell too many", lines("id,spot_usd", "b,6", "a,1,2"), "quotes.csv:3: 3 fields, exp"],
    [
      "that is not JSON",
      '{"id":"a","spot_usd":NaN}\n{"id":"b","spot_usd":6}',
      "quotes.ndjson:1: not",
    ],
    ["that contradicts another", lines("id,spot_usd", "b,6", "b,7"), 'quotes.csv:3 level "7"'],
    [
      "that is the header again",
      lines("id,spot_usd", "b,6", "id,spot_usd"),
      "quotes.csv:3: the header again",
    ],
    ["of a wide table", lines("id,2026-11-20", "b,6"), "quotes.csv:1: a wide table, with dates"],
  ])("a row %s is an error", async (_, quotes, found) => {
    const { code, said } = await failure(await published(), { ...run, quotes });
    expect([code, said.length, said[1]]).toEqual([2, 2, expect.stringContaining(found)]);
  });

  test("a row of an unknown id is left out with --ignore-unknown; the catalog is never held", async () => {
    const store = await published();
    const quotes = lines("id,spot_usd", "x,NaN", "a,-", "b,6");
    await mustPublish(store, { ...run, quotes, ignoreUnknown: true });
    expect(await judgements(store)).toEqual([
      held("a", 1),
      { gate: "unknown", contract: "x", measured: 1, limit: null },
    ]);
    const catalog = catalogOf(["a", { id: "b", board: "x" }]);
    const { code } = await failure(store, { ...run, session: "2026-11-22T00Z", catalog, quotes });
    expect(code).toBe(2);
  });
});

describe("--ignore-unknown", () => {
  const quotes = lines("id,spot_usd", "a,13", "x,-1", "b,6", "y,2", "x,3");

  test("leaves out rows outside the published catalog, and counts them by id", async () => {
    const store = await published();
    expect((await failure(store, { session: NOON, quotes })).code).toBe(2);
    await mustPublish(store, { session: NOON, quotes, ignoreUnknown: true });
    expect(await levels(store)).toEqual([
      ["a", 13, "reported"],
      ["b", 6, "reported"],
    ]);
    expect(await judgements(store)).toEqual([
      { gate: "unknown", contract: "x", measured: 2, limit: null },
      { gate: "unknown", contract: "y", measured: 1, limit: null },
    ]);
  });

  test("or outside the given one, also into an empty store", async () => {
    const store = new MemoryStore();
    const run = { catalog: catalogOf(["a", "b", "x"]), ignoreUnknown: true };
    const { said } = await failure(store, { ...run, quotes });
    expect(said[1]).toMatch(/^quotes\.csv:3 spot_usd "-1"/);
    await mustPublish(store, { ...run, quotes: quotes.replace("x,-1\n", "") });
    expect(await judgements(store)).toEqual([
      { gate: "unknown", contract: "y", measured: 1, limit: null },
    ]);
  });

  test("a row that is not whole is an error: a file that is cut short ends in half an id", async () => {
    const store = await published();
    const cut = "id,spot_usd\na,13\nb,6\nx";
    const { code, said } = await failure(store, {
      session: NOON,
      quotes: cut,
      ignoreUnknown: true,
    });
    expect([code, said[1]]).toEqual([2, expect.stringMatching(/^quotes\.csv:4: 1 field/)]);
  });

  test("names at most 100 ids, cut to 100 characters", async () => {
    const store = await published();
    const long = "l".repeat(500);
    const ids = [long, ...Array.from({ length: 149 }, (_, at) => `u${at}`), "u140", "u2"];
    const text = lines("id,spot_usd", "a,13", "b,6", ...ids.map((id) => `${id},1`));
    await mustPublish(store, { session: NOON, quotes: text, ignoreUnknown: true });
    const kept = (await judgements(store)) as { contract: string | null; measured: number }[];
    expect([kept.length, kept[0], kept[3], kept.at(-1)]).toEqual([
      101,
      { gate: "unknown", contract: `${"l".repeat(100)}…`, measured: 1, limit: null },
      { gate: "unknown", contract: "u2", measured: 2, limit: null },
      { gate: "unknown", contract: null, measured: 51, limit: null },
    ]);
  });
});

describe("--round", () => {
  const rounded = async (text: string): Promise<unknown> => {
    const store = new MemoryStore();
    const quotes = lines("id,spot_usd", `a,${text}`);
    const { code, said } = await tryPublish(store, {
      catalog: catalogOf(["a"]),
      quotes,
      round: true,
    });
    if (code !== 0) return said[1];
    expect(await judgements(store)).toEqual(
      /\.\d{7}/.test(text) ? [{ gate: "rounded", contract: null, measured: 1, limit: 6 }] : [],
    );
    return (await headJson(store, "pro/board.json")).memory[0].spot_usd;
  };

  test.each([
    ["1.0000005", 1.000_001],
    ["1.0000004999999999999999999999999", 1],
    ["2.99999950", 3],
    ["0.0000005", 0.000_001],
    ["1.123456", 1.123_456],
    ["12.5000000", 12.5],
    ["999999999.9999994", 999_999_999.999_999],
    ["999999999.9999995", 1_000_000_000],
    ["1000000000.0000004", 1_000_000_000],
  ])("%s becomes %d, half away from zero, exactly", async (text, usd) => {
    expect(await rounded(text)).toBe(usd);
  });

  test.each([
    "0.0000004",
    "0.00000049999999",
    "0",
    "0.0000000",
    "1000000000.0000005",
    "-1.0000005",
  ])("%s is an error", async (text) => {
    expect(await rounded(text)).toBe(
      `quotes.csv:2 spot_usd "${text}": expected a number above 0 after rounding to 6 decimals, at most 1000000000`,
    );
  });

  test("counts quotes and closes; without it they are refused", async () => {
    const store = await published();
    const run = {
      session: NOON,
      quotes: '[{"id":"a","spot_usd":12.12345678},{"id":"b","spot_usd":5.1}]',
      closes: lines("id,date,close_usd", "b,2026-11-20,5.0000001"),
    };
    const { code, said } = await failure(store, run);
    expect([code, said.length]).toEqual([2, 3]);
    await mustPublish(store, { ...run, round: true });
    expect(await judgements(store)).toEqual([
      { gate: "rounded", contract: null, measured: 2, limit: 6 },
    ]);
  });
});
