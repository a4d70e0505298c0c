/** Low, high, inputs and rationale of a level: how they are given, kept, corrected and refused. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { complaints, SPARSE } from "./complaint-table.ts";
import { headJson, lines, mustPublish, quotesOf, tryPublish } from "./small-market.ts";
import { failure, NOON, published, QUOTES } from "./two-sessions.ts";

const HEADER = "id,spot_usd,low_usd,high_usd,inputs";

interface Figures {
  readonly spot_usd: number;
  readonly low_usd: number | null;
  readonly high_usd: number | null;
  readonly inputs: number | null;
}

/** The figures of the first contract on the Pro board. */
async function figuresOf(store: ObjectStore): Promise<Figures> {
  const { spot_usd, low_usd, high_usd, inputs } = (await headJson(store, "pro/board.json"))
    .memory[0];
  return { spot_usd, low_usd, high_usd, inputs };
}

describe("figures that are given", () => {
  test.each([
    ["a,12.5,12.50,12.5,1", { low_usd: 12.5, high_usd: 12.5, inputs: 1 }],
    ["a,12.5,0.000001,1000000000,1000000", { low_usd: 0.000001, high_usd: 1e9, inputs: 1e6 }],
    ["a,12.5,,,17", { low_usd: null, high_usd: null, inputs: 17 }],
    ["a,12.5,,,17.0", { low_usd: null, high_usd: null, inputs: 17 }],
    ["a,12.5,12,13,", { low_usd: 12, high_usd: 13, inputs: null }],
  ])("%s are in the record", async (row, figures) => {
    const store = new MemoryStore();
    await mustPublish(store, { ...SPARSE, quotes: lines(HEADER, row) });
    expect(await figuresOf(store)).toEqual({ spot_usd: 12.5, ...figures });
  });

  test("are carried with the level, and figures of a close also count", async () => {
    const store = new MemoryStore();
    const closes = lines("id,date,close_usd,low_usd,high_usd", "a,2026-11-20,12,11.5,12.25");
    await mustPublish(store, { ...SPARSE, closes });
    expect(await figuresOf(store)).toEqual({
      spot_usd: 12,
      low_usd: 11.5,
      high_usd: 12.25,
      inputs: null,
    });
    // The next level has its own, here none.
    await mustPublish(store, { session: NOON, quotes: quotesOf({ a: 13 }), allowSparse: true });
    expect(await figuresOf(store)).toEqual({
      spot_usd: 13,
      low_usd: null,
      high_usd: null,
      inputs: null,
    });
  });

  test("are rounded with --round, and count as one level", async () => {
    const store = new MemoryStore();
    const quotes = lines(HEADER, "a,12.5000004,12.49999951,12.5000005,", "b,5,4.1234567,5,");
    expect((await complaints({ ...SPARSE, quotes })).slice(1)).toMatchObject([
      expect.stringMatching(/^quotes.csv:2 spot_usd "12.5000004"/),
      expect.stringMatching(/^quotes.csv:2 low_usd "12.49999951"/),
      expect.stringMatching(/^quotes.csv:2 high_usd "12.5000005"/),
      expect.stringMatching(/^quotes.csv:3 low_usd "4.1234567"/),
    ]);
    await mustPublish(store, { ...SPARSE, quotes, round: true });
    expect(await figuresOf(store)).toMatchObject({ low_usd: 12.5, high_usd: 12.500001 });
    expect((await headJson(store, "manifest.json")).judgements).toContainEqual(
      expect.objectContaining({ gate: "rounded", measured: 2 }),
    );
  });
});

describe("figures that are refused", () => {
  const LEVEL = "expected a number above 0, at most 1000000000, with at most 6 decimals";
  const COUNT = "expected a whole number from 1 to 1000000";
  test.each([
    ["12.5,12.6,13,", ['low_usd "12.6": expected at most the level, 12.5']],
    ["12.5,12,12.4,", ['high_usd "12.4": expected at least the level, 12.5']],
    [
      "12.5,13,12,",
      [
        'low_usd "13": expected at most the level, 12.5',
        'high_usd "12": expected at least the level, 12.5',
      ],
    ],
    ["12.5,12,,", ['high_usd "": expected a level, because low_usd has one']],
    ["12.5,,13,", ['low_usd "": expected a level, because high_usd has one']],
    ["12.5,0,-1,", [`low_usd "0": ${LEVEL}`, `high_usd "-1": ${LEVEL}`]],
    ["x,12,13,", [`spot_usd "x": ${LEVEL}`]],
    ...["0", "-1", "1.5", "1000001", "1000000000", "10^9", "1e3", "many"].map(
      (inputs): [string, string[]] => [`12.5,,,${inputs}`, [`inputs "${inputs}": ${COUNT}`]],
    ),
  ])("%s", async (cells, expected) => {
    const said = await complaints({ ...SPARSE, quotes: lines(HEADER, "b,5,,,", `a,${cells}`) });
    expect(said.slice(1).map((line) => line.replace("; plain digits, no exponent", ""))).toEqual(
      expected.map((finding) => `quotes.csv:3 ${finding}`),
    );
  });

  test("in JSON and in closes: the row and the field", async () => {
    const said = await complaints({
      ...SPARSE,
      quotes: '[{"id":"a","spot_usd":12.5,"inputs":1.5},{"id":"b","spot_usd":5,"low_usd":4}]',
      closes: lines("id,date,close_usd,low_usd,high_usd", "a,2026-11-19,12,12.1,13"),
    });
    expect(said.slice(1)).toEqual([
      `quotes.json[0] inputs "1.5": ${COUNT}`,
      "quotes.json[1] high_usd null: expected a level, because low_usd has one",
      'closes.csv:2 low_usd "12.1": expected at most the level, 12',
    ]);
  });

  test("beside basis withdrawn", async () => {
    const store = await published();
    const quotes = lines(`${HEADER},rationale,basis`, "a,,11,13,3,why,withdrawn");
    const { said } = await failure(store, { quotes, revise: "x" });
    expect(said.slice(1)).toEqual([
      'quotes.csv:2 low_usd "11": expected an empty cell beside basis withdrawn',
      'quotes.csv:2 high_usd "13": expected an empty cell beside basis withdrawn',
      'quotes.csv:2 inputs "3": expected an empty cell beside basis withdrawn',
      'quotes.csv:2 rationale "why": expected an empty cell beside basis withdrawn',
    ]);
  });

  test("in two rows that differ", async () => {
    const quotes = lines(HEADER, "a,12.5,12,13,4", "a,12.5,12.1,13,5");
    expect((await complaints({ ...SPARSE, quotes })).slice(1)).toEqual([
      'quotes.csv:3 low_usd "12.1": expected 12 as in quotes.csv:2: a has one level for 2026-11-21T00Z',
      'quotes.csv:3 inputs "5": expected 4 as in quotes.csv:2: a has one level for 2026-11-21T00Z',
    ]);
  });
});

describe("figures of a published level", () => {
  const given = async (): Promise<MemoryStore> => {
    const store = new MemoryStore();
    const quotes = lines(HEADER, "a,12,11.5,12.5,4");
    await mustPublish(store, { ...SPARSE, quotes });
    return store;
  };

  test.each([
    ["low and high", "a,12,11,13,", { low_usd: 11, high_usd: 13, inputs: 4 }],
    ["inputs", "a,12,,,5", { low_usd: 11.5, high_usd: 12.5, inputs: 5 }],
  ])("a change of %s alone needs --revise", async (_, row, figures) => {
    const store = await given();
    const run = { quotes: lines(HEADER, row), allowSparse: true };
    expect(await failure(store, run)).toMatchObject({
      code: 4,
      said: [
        expect.stringContaining("--revise"),
        "quotes.csv:2: a at 2026-11-21T00Z: 12 would become 12",
      ],
    });
    expect(await mustPublish(store, { ...run, revise: "Wider range" })).toBe("2026-11-21T00Z/r2");
    expect(await figuresOf(store)).toEqual({ spot_usd: 12, ...figures });
    const { corrections } = await headJson(store, "pro/contracts/a.json");
    expect(corrections).toEqual([
      {
        session_utc: "2026-11-21T00:00:00.000Z",
        old_usd: 12,
        new_usd: 12,
        reason: "Wider range",
        corrected_in: "2026-11-21T00Z/r2",
        publication: 2,
      },
    ]);
    expect((await tryPublish(store, run)).result?.outcome).toBe("unchanged");
  });

  test("stay when a row does not name them, as long as the level lies between", async () => {
    const store = await given();
    const inside = { quotes: quotesOf({ a: 12.4 }), revise: "x", allowSparse: true };
    await mustPublish(store, inside);
    expect(await figuresOf(store)).toEqual({
      spot_usd: 12.4,
      low_usd: 11.5,
      high_usd: 12.5,
      inputs: 4,
    });
    const outside = { ...inside, quotes: lines(QUOTES, "a,12.6,2026-11-21T00Z") };
    expect(await failure(store, outside)).toMatchObject({
      code: 2,
      said: [
        "1 error in the input; nothing was written",
        "quotes.csv:2: a would have the level 12.6 for 2026-11-21T00Z, outside its published range of " +
          "11.5 to 12.5; also give low_usd and high_usd",
      ],
    });
    await mustPublish(store, { ...inside, quotes: lines(HEADER, "a,12.6,12.6,13,") });
    expect(await figuresOf(store)).toMatchObject({ spot_usd: 12.6, low_usd: 12.6, inputs: 4 });
  });

  test("go with a level that is withdrawn", async () => {
    const store = await given();
    const withdrawn = lines("id,spot_usd,basis", "a,,withdrawn");
    await mustPublish(store, { quotes: withdrawn, revise: "x", allowSparse: true });
    await mustPublish(store, { quotes: quotesOf({ a: 20 }), revise: "y", allowSparse: true });
    expect(await figuresOf(store)).toEqual({
      spot_usd: 20,
      low_usd: null,
      high_usd: null,
      inputs: null,
    });
  });
});

describe("the rationale of a level", () => {
  const why = (text: string): string => lines("id,spot_usd,rationale", "b,5,", `a,12,${text}`);
  const rationaleOf = async (store: ObjectStore, tier: string): Promise<unknown> =>
    (await headJson(store, `${tier}/contracts/a.json`)).rationale;

  test("is in the file of the contract only, and carried with the level", async () => {
    const store = new MemoryStore();
    const text = "µ".repeat(500);
    await mustPublish(store, { ...SPARSE, quotes: why(text) });
    await mustPublish(store, { session: NOON, quotes: quotesOf({ b: 5 }), allowSparse: true });
    for (const tier of ["free", "starter", "pro"]) {
      expect(await rationaleOf(store, tier)).toBe(text);
      expect(JSON.stringify(await headJson(store, `${tier}/board.json`))).not.toContain(
        "rationale",
      );
    }
    expect((await headJson(store, "pro/contracts/b.json")).rationale).toBe(null);
    const csv = String(await store.get(`sessions/${NOON}/r1/pro/export.csv`));
    expect(csv).not.toMatch(/rationale|µ/);
  });

  test.each([
    ["x".repeat(501), "x".repeat(501)],
    [" ", " "],
    ["a\u0007b", "a\\u0007b"],
  ])("%j is refused", async (text, shown) => {
    const [, said] = await complaints({ ...SPARSE, quotes: why(text) });
    expect(said).toMatch(/^quotes\.csv:3 rationale "/);
    expect(said).toContain(shown.slice(0, 50));
    expect(said).toMatch(/: expected text of 1 to 500 characters without control characters$/);
  });

  test("a change of it alone needs --revise, and stays with the level that another row names", async () => {
    const store = new MemoryStore();
    await mustPublish(store, { ...SPARSE, quotes: why("Thin trade") });
    const run = { quotes: why("Firm bids"), allowSparse: true };
    const { code, said } = await failure(store, run);
    expect([code, said[1]]).toEqual([4, "quotes.csv:3: a at 2026-11-21T00Z: 12 would become 12"]);
    await mustPublish(store, { ...run, revise: "Better words" });
    expect(await rationaleOf(store, "pro")).toBe("Firm bids");
    await mustPublish(store, { ...run, quotes: quotesOf({ a: 12.5 }), revise: "Typing error" });
    expect(await rationaleOf(store, "pro")).toBe("Firm bids");
  });
});
