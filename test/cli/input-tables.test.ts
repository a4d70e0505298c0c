/** Tables in the input: columns, ids, the catalog, texts; and all errors reported at once. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { CATALOG, complaints, SPARSE } from "./complaint-table.ts";
import { catalogOf, contentOf, headJson, lines, mustPublish, quotesOf } from "./small-market.ts";
import { tryPublish } from "./small-market.ts";

const dayBefore = (days: number): string =>
  new Date(Date.UTC(2026, 10, 20) - days * 86_400_000).toISOString().slice(0, 10);

describe("columns and ids", () => {
  test("unknown, duplicate and missing columns and fields", async () => {
    expect(await complaints({ ...SPARSE, quotes: lines("id,spot_usd,price", "a,1,1") })).toContain(
      'quotes.csv:1: unknown column "price", expected id, spot_usd, session_utc, basis, as_of, source, source_url, break, low_usd, high_usd, inputs, rationale',
    );
    expect(await complaints({ ...SPARSE, quotes: lines("id,spot_usd,id", "a,1,a") })).toContain(
      'quotes.csv:1: column "id" appears twice',
    );
    expect(await complaints({ ...SPARSE, quotes: lines("id,basis", "a,reported") })).toContain(
      'quotes.csv:1: the header lacks the column "spot_usd"',
    );
    expect(await complaints({ ...SPARSE, quotes: '{"id":"a","spot_usd":1,"x":2}' })).toContain(
      'quotes.ndjson:1: unknown field "x", expected id, spot_usd, session_utc, basis, as_of, source, source_url, break, low_usd, high_usd, inputs, rationale',
    );
    expect(await complaints({ ...SPARSE, quotes: '[{"id":"a"}]' })).toContain(
      'quotes.json[0]: the field "spot_usd" is missing',
    );
    expect(await complaints({ ...SPARSE, closes: lines("id,date", "a,2026-11-01") })).toContain(
      'closes.csv:1: the header lacks the column "close_usd"',
    );
    const [, ...lacking] = await complaints({ catalog: lines("id,name", "a,A") });
    expect(lacking).toHaveLength(7);
  });

  test.each([
    ["quotes.csv", ":1", ":2", lines("id,spot_usd,price", "a,-3,1")],
    ["quotes.ndjson", ":1", ":1", '{"id":"a","spot_usd":-3,"price":1}'],
  ])("%s: faults in its rows are reported beside an unknown name", async (file, at, row, text) => {
    expect((await complaints({ ...SPARSE, quotes: text })).slice(1)).toEqual([
      expect.stringMatching(`^${file}${at}: unknown (?:column|field) "price", expected id, `),
      expect.stringMatching(`^${file}${row} spot_usd "-3": expected `),
    ]);
  });

  test.each(["id,Spot_USD", "id,spot_usd,spot_usd"])(
    "of a table with the header %s no row is read",
    async (header) => {
      const told = await complaints({ ...SPARSE, quotes: lines(header, "a,-3") });
      expect(told.slice(1)).toEqual([expect.stringMatching(/^quotes\.csv:1: /)]);
    },
  );

  test.each([
    ["id;spot_usd", "columns separated by semicolons"],
    ["id\tspot_usd", "columns separated by tabs"],
    ["<!DOCTYPE html>", "looks like a web page"],
  ])("the first line %j gets one message that fits", async (header, found) => {
    const told = await complaints({ ...SPARSE, quotes: lines(header, "a;1") });
    const expected = "expected a header of columns separated by commas";
    expect(told.filter((line) => line.startsWith("quotes.csv:1:"))).toEqual([
      expect.stringContaining(`quotes.csv:1: ${found}, ${expected}`),
    ]);
  });

  test("lines above the header that begin with # are comments; below it they are data", async () => {
    const store = new MemoryStore();
    const quotes = `\ufeff${lines('# The levels, "today"', "", "#,,", "id,spot_usd", "a,5")}`;
    await mustPublish(store, { ...SPARSE, quotes });
    expect((await headJson(store, "pro/board.json")).memory[0]).toMatchObject({ spot_usd: 5 });

    const below = lines("# levels", "id,spot_usd", "# a,5", "a,-3");
    expect((await complaints({ ...SPARSE, quotes: below })).slice(1)).toEqual([
      'quotes.csv:3 id "# a": expected a contract of the catalog; --ignore-unknown leaves such rows out',
      expect.stringContaining('quotes.csv:4 spot_usd "-3": expected'),
    ]);
    const told = await complaints({ ...SPARSE, quotes: lines("# levels", "id;spot_usd", "a;1") });
    expect(told).toContainEqual(expect.stringContaining("quotes.csv:2: columns separated by sem"));
    const none = await complaints({ ...SPARSE, quotes: lines("# levels", "", "# none") });
    expect(none).toContain("quotes.csv:3: no header, expected one below the comments");
    const only = await complaints({ ...SPARSE, quotes: lines("#id,spot_usd", "a,1") });
    expect(only).toContainEqual(expect.stringContaining("quotes.csv:2: no known column"));
  });

  test("columns can be in any order", async () => {
    const store = new MemoryStore();
    await mustPublish(store, { ...SPARSE, quotes: lines("basis,spot_usd,id", "assessed,5,a") });
    expect((await headJson(store, "pro/board.json")).memory[0]).toMatchObject({
      id: "a",
      spot_usd: 5,
      basis: "assessed",
    });
  });

  test("a row with too few or too many fields", async () => {
    const quotes = lines("id,spot_usd", "a", "a,1,2", "b,1");
    expect((await complaints({ ...SPARSE, quotes })).slice(1)).toEqual([
      "quotes.csv:2: 1 field, expected 2 as in the header",
      "quotes.csv:3: 3 fields, expected 2 as in the header",
    ]);
  });

  test("an id that is not in the catalog", async () => {
    const said = await complaints({
      ...SPARSE,
      quotes: quotesOf({ a: 1, ghost: 2 }),
      closes: lines("id,date,close_usd", "phantom,2026-11-01,1"),
    });
    expect(said.slice(1)).toEqual([
      'quotes.csv:3 id "ghost": expected a contract of the catalog; --ignore-unknown leaves such rows out',
      'closes.csv:2 id "phantom": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    ]);
  });

  test("an id that is not in the catalog, in thousands of rows, is one finding", async () => {
    const ghosts = Array.from({ length: 5_000 }, (_, n) => `ghost,${dayBefore(n)},1`);
    const said = await complaints({
      ...SPARSE,
      quotes: lines("id,spot_usd", "a,1", "ghost,2"),
      closes: lines("id,date,close_usd", ...ghosts, `phantom,2026-11-01,1`),
    });
    expect(said).toEqual([
      "2 errors in the input; nothing was written",
      'quotes.csv:3 id "ghost": expected a contract of the catalog; --ignore-unknown leaves such rows out; 5001 rows name it',
      'closes.csv:5002 id "phantom": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    ]);
  });
});

describe("one kind of error in many rows of a column", () => {
  const rows = (count: number, row: (n: number) => string): string[] =>
    Array.from({ length: count }, (_, n) => row(n + 2));
  const EXPECTED = "expected a number above 0, at most 1000000000, with at most 6 decimals";

  test("in 20 rows is an error for each; in more it is one finding", async () => {
    const quotes = (count: number) => lines("id,spot_usd", ...rows(count, (n) => `a,-${n}`));
    const few = await complaints({ ...SPARSE, quotes: quotes(20) });
    expect([few.length, few[0], few[20]]).toEqual([
      21,
      "20 errors in the input; nothing was written",
      `quotes.csv:21 spot_usd "-21": ${EXPECTED}`,
    ]);
    expect(await complaints({ ...SPARSE, quotes: quotes(21) })).toEqual([
      "1 error in the input; nothing was written",
      `quotes.csv:2 spot_usd "-2": ${EXPECTED}; 21 rows have such an error, ` +
        'the next are quotes.csv:3 spot_usd "-3" and quotes.csv:4 spot_usd "-4"',
    ]);
  });

  test("another kind, another column and another file are findings of their own", async () => {
    const wrong = rows(30, () => `a,-1,guess`);
    const said = await complaints({
      ...SPARSE,
      quotes: [
        lines("id,spot_usd,basis", ...wrong, "a,1e3,", "a,1"),
        lines("id,spot_usd,basis", ...wrong),
      ],
      closes: lines("id,date,close_usd", ...rows(30, (n) => `a,${dayBefore(n)},`)),
    });
    expect(said.map((line) => line.replace(/: expected.*; (\d+) rows.*/, ": $1 rows"))).toEqual([
      "7 errors in the input; nothing was written",
      'quotes.csv:2 spot_usd "-1": 30 rows',
      'quotes.csv:2 basis "guess": 30 rows',
      `quotes.csv:32 spot_usd "1e3": ${EXPECTED}; plain digits, no exponent`,
      "quotes.csv:33: 2 fields, expected 3 as in the header",
      'quotes-2.csv:2 spot_usd "-1": 30 rows',
      'quotes-2.csv:2 basis "guess": 30 rows',
      'closes.csv:2 close_usd "": 30 rows',
    ]);
  });

  test("whatever values its words name, in rows of every format", async () => {
    const ranges = rows(25, (n) => `a,${n},${n + 1},${n + 2}`);
    const [, ...range] = await complaints({
      ...SPARSE,
      quotes: lines("id,spot_usd,low_usd,high_usd", ...ranges),
    });
    expect(range).toEqual([
      expect.stringMatching(
        /^quotes\.csv:2 low_usd "3": expected at most the level, 2; 25 rows have/,
      ),
    ]);
    const [, ...fields] = await complaints({
      ...SPARSE,
      quotes: lines(...rows(25, () => '{"id":"a","spot_usd":1,"x":2}')),
    });
    expect(fields).toEqual([
      expect.stringMatching(/^quotes\.ndjson:1: unknown field "x", .*; 25 rows have such an error/),
    ]);
  });

  test("a hundred unknown ids are told one by one, those after them as one", async () => {
    const ghosts = (count: number): string =>
      `[${rows(count, (n) => `{"id":"x${n}","spot_usd":1}`).join(",")}]`;
    const told = (n: number): string =>
      `quotes.json[${n}] id "x${n + 2}": expected a contract of the catalog; --ignore-unknown leaves such rows out`;
    const [, ...each] = await complaints({ ...SPARSE, quotes: ghosts(120) });
    expect(each).toEqual(Array.from({ length: 120 }, (_, n) => told(n)));
    const [, ...many] = await complaints({ ...SPARSE, quotes: ghosts(150) });
    expect(many.slice(0, 100)).toEqual(each.slice(0, 100));
    expect(many.slice(100)).toEqual([
      `${told(100)}; 50 rows have such an error, ` +
        'the next are quotes.json[101] id "x103" and quotes.json[102] id "x104"',
    ]);
  });
});

test("an unknown id is told also where another cell of its row is wrong", async () => {
  const said = await complaints({
    ...SPARSE,
    quotes: [
      lines("id,spot_usd,basis", "x,-1,", "b,5,", "x,2,guess", "y,2,"),
      lines('{"id":"z","spot_usd":[1]}', '{"id":"v"}', '{"id":"w","spot_usd":1,"more":1}'),
    ],
    closes: lines("id,date,close_usd", "u,never,1"),
  });
  expect(said.map((line) => line.replace(/: expected a (?!contract).*|, expected.*/, ""))).toEqual([
    "12 errors in the input; nothing was written",
    'quotes.csv:2 spot_usd "-1"',
    'quotes.csv:2 id "x": expected a contract of the catalog; --ignore-unknown leaves such rows out; 2 rows name it',
    'quotes.csv:4 basis "guess": expected reported, assessed, estimated or withdrawn',
    'quotes.csv:5 id "y": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    'quotes-2.ndjson:1 spot_usd "[1]": expected text or a number',
    'quotes-2.ndjson:1 id "z": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    'quotes-2.ndjson:2: the field "spot_usd" is missing',
    'quotes-2.ndjson:2 id "v": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    'quotes-2.ndjson:3: unknown field "more"',
    'quotes-2.ndjson:3 id "w": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    'closes.csv:2 date "never"',
    'closes.csv:2 id "u": expected a contract of the catalog; --ignore-unknown leaves such rows out',
  ]);
});

test("a member that stands twice in the catalog is refused", async () => {
  const catalog = JSON.stringify([{ id: "a", ticker: "A" }]).replace("}", ',"ticker":"B"}');
  expect(await complaints({ catalog })).toContain(
    'catalog.json[0]: the field "ticker" appears twice',
  );
});

test("a row of the catalog with an unknown field does not make its quotes unknown", async () => {
  const [a, b] = [{ id: "a" }, { id: "b" }].map(({ id }) => ({
    id,
    ticker: id,
    name: id,
    board: "memory",
    segment: "DRAM",
    unit: "USD",
    ai_exposure_pct: 1,
    source: "S",
    source_url: "https://s.example/",
  }));
  const catalog = JSON.stringify([a, { ...b, color: "red" }]);
  const said = await complaints({ catalog, quotes: quotesOf({ a: 1, b: 2 }) });
  expect(said.slice(1)).toEqual([
    expect.stringMatching(/^catalog\.json\[1\]: unknown field "color"/),
  ]);
});

describe("the catalog", () => {
  const IDS = Array.from({ length: 12 }, (_, n) => `c${n}`);
  const marked = (count: number): string =>
    catalogOf(
      IDS.map((id, n) => ({ id, free: n >= 12 - count ? "true" : n === 0 ? "false" : "" })),
    );
  const freeOf = async (catalog: string): Promise<string[]> => {
    const store = new MemoryStore();
    await mustPublish(store, { catalog, allowSparse: true });
    const rows: { id: string; free: boolean }[] = await headJson(store, "catalog.json");
    return rows.filter(({ free }) => free).map(({ id }) => id);
  };

  test("free: ten marked, none marked, fewer than ten contracts", async () => {
    expect(await freeOf(marked(10))).toEqual(IDS.slice(2));
    expect(await freeOf(marked(0))).toEqual(IDS.slice(0, 10));
    const few = IDS.slice(0, 9);
    expect(await freeOf(catalogOf(few))).toEqual(few);
    expect(
      await freeOf(catalogOf(few.map((id, n) => ({ id, free: n < 3 ? "true" : "" })))),
    ).toEqual(few);
    expect(await freeOf(catalogOf(IDS.slice(0, 10)))).toEqual(IDS.slice(0, 10));
  });

  test.each([9, 11, 1])("free: %i marked is an error", async (count) => {
    expect(await complaints({ catalog: marked(count) })).toContain(
      `catalog.csv: free is true on ${count} rows, expected exactly 10, or none for the first 10`,
    );
  });

  test.each([
    ["id", "DDR5", /^catalog\.csv:2 id "DDR5": expected a lowercase slug/],
    ["id", "a--b", /expected a lowercase slug/],
    ["id", "../x", /expected a lowercase slug/],
    ["ticker", "", /^catalog\.csv:2 ticker "": expected text/],
    ["name", " ", /expected text/],
    ["board", "Memory", /^catalog\.csv:2 board "Memory": expected memory or semiconductor$/],
    ["ai_exposure_pct", "100.1", /expected a number from 0 to 100/],
    ["ai_exposure_pct", "-1", /expected a number from 0 to 100/],
    ["source_url", "ftp://s.example/", /expected an http or https address/],
    ["source_url", "javascript:alert(1)", /expected an http or https address/],
    [
      "capacity_gb",
      "0",
      /^catalog\.csv:2 capacity_gb "0": expected a number from 0.001 to 1000000/,
    ],
    ["capacity_gb", "0.0009", /capacity_gb/],
    ["capacity_gb", "1000000.1", /capacity_gb/],
    ["capacity_gb", "0.0010001", /capacity_gb/],
    ["max_carry_days", "-1", /expected a whole number/],
    ["max_carry_days", "1.5", /expected a whole number/],
    ["free", "yes", /^catalog\.csv:2 free "yes": expected true or false$/],
    ["price_type", "Spot", /expected spot or contract or retail or derived or other$/],
    ["delisted_on", "2026-11-31", /^catalog\.csv:2 delisted_on "2026-11-31": expected a date/],
    ["formerly", "DDR5", /^catalog\.csv:2 formerly "DDR5": expected a lowercase slug/],
    [
      "formerly",
      "a",
      /^catalog\.csv:2 formerly "a": expected an id that the catalog no longer uses/,
    ],
    ["cadence_days", "0.4", /expected a number from 0.5 to 366/],
    ["cadence_days", "367", /expected a number from 0.5 to 366/],
    ["max_move_pct", "-1", /expected a number from 0 to 1000000000/],
    ["max_move_pct", "50 %", /expected a number from 0 to 1000000000/],
  ])("%s %j", async (column, value, expected) => {
    const [columns = "", row = ""] = catalogOf(["a"]).split("\n");
    const cells = row.split(",");
    cells[columns.split(",").indexOf(column)] = value;
    const [, complaint] = await complaints({ catalog: lines(columns, cells.join(",")) });
    expect(complaint).toMatch(expected);
  });

  test("price type, delisting, former id, cadence and largest move are stored, with defaults for empty cells", async () => {
    const store = new MemoryStore();
    const given = {
      price_type: "spot",
      delisted_on: "2027-01-31",
      formerly: "z",
      cadence_days: "7.50",
      max_move_pct: "12.5",
    };
    await mustPublish(store, {
      catalog: catalogOf([{ id: "a", ...given }, "b"]),
      quotes: quotesOf({ a: 1, b: 2 }),
    });
    expect(await headJson(store, "catalog.json")).toMatchObject([
      { id: "a", ...given, cadence_days: 7.5, max_move_pct: 12.5 },
      { id: "b", price_type: null, delisted_on: null, formerly: null, max_move_pct: null },
    ]);
  });

  test("a former id that is in use, also in a circle, or named twice", async () => {
    const circle = catalogOf([
      { id: "a", formerly: "b" },
      { id: "b", formerly: "a" },
    ]);
    expect(await complaints({ catalog: circle })).toEqual([
      expect.any(String),
      'catalog.csv:2 formerly "b": expected an id that the catalog no longer uses, but it does at catalog.csv:3',
      'catalog.csv:3 formerly "a": expected an id that the catalog no longer uses, but it does at catalog.csv:2',
    ]);
    const twice = catalogOf([
      { id: "a", formerly: "z" },
      { id: "b", formerly: "z" },
    ]);
    expect(await complaints({ catalog: twice })).toContain(
      'catalog.csv:3 formerly "z": expected an id that one contract had before, but a also names it',
    );
    // Of several the message names the wrong one.
    const several = catalogOf([
      { id: "a", formerly: "y z" },
      { id: "b", formerly: "x z a" },
    ]);
    expect((await complaints({ catalog: several })).slice(1)).toEqual([
      'catalog.csv:3 formerly "x z a": expected ids that one contract had before, but a also names "z"',
      'catalog.csv:3 formerly "x z a": expected ids that the catalog no longer uses, but it uses "a" at catalog.csv:2',
    ]);
  });

  test("segments whose indices would have no id of their own", async () => {
    const catalog = catalogOf([
      { id: "a", segment: "Flash (NAND)" },
      { id: "b", segment: "flash -nand-" },
      { id: "c", segment: "Composite" },
      { id: "d", segment: "記憶體" },
      { id: "e", segment: "Flash (NAND)" },
      { id: "f", segment: "flash -nand-" },
    ]);
    expect(await complaints({ catalog })).toEqual([
      "3 errors in the input; nothing was written",
      'catalog.csv:3 segment "flash -nand-": expected an index id of its own, but "Flash (NAND)" at catalog.csv:2 also has "flash--nand-"',
      'catalog.csv:4 segment "Composite": expected a name other than composite, the name of the whole market\'s index',
      'catalog.csv:5 segment "記憶體": expected at least one letter from A to Z or digit, for the id of its index',
    ]);
  });

  test("segments that have their first 200 characters in common have ids of their own", async () => {
    const store = new MemoryStore();
    const long = "x".repeat(200);
    const catalog = catalogOf([
      { id: "a", segment: `${long} y` },
      { id: "b", segment: `${long} z` },
      { id: "c", segment: long },
      { id: "d", segment: `z${long} a` },
      { id: "e", segment: `z${long} b`, board: "semiconductor" },
    ]);
    const quotes = quotesOf({ a: 1, b: 2, c: 3, d: 4, e: 5 });
    await mustPublish(store, { catalog, quotes });
    const { indices } = await headJson(store, "pro/indices.json");
    const start = "x".repeat(183);
    expect(indices.map(({ id, name }: Record<string, string>) => [id, name])).toEqual([
      ["composite", "composite"],
      [`${start}-0a18d822d0a413f3`, `${long} y`],
      [`${start}-0a18d922d0a415a6`, `${long} z`],
      [long, long],
      [`z${long.slice(1)}`, `z${long} a`],
      [`z${start.slice(1)}-d0f09292e98952e6`, `z${long} b`],
    ]);
    for (const { id } of indices.slice(1)) {
      expect(await headJson(store, `pro/indices/${id}.json`)).toMatchObject({ constituents: 0 });
    }
    const same = catalogOf([
      { id: "a", segment: `${long} y` },
      { id: "b", segment: `${long}-y` },
    ]);
    const [, complaint = ""] = await complaints({ catalog: same });
    expect(complaint).toMatch(
      /^catalog\.csv:3 segment "x+…": expected an index id of its own, but "x+…" at catalog\.csv:2 also has "x+…"$/,
    );
  });

  test("the indices of segments with marks, and with long names", async () => {
    const store = new MemoryStore();
    const long = "x".repeat(1_000);
    const catalog = catalogOf([
      { id: "a", segment: "3D-NAND; é & co" },
      { id: "b", segment: long },
    ]);
    await mustPublish(store, { catalog, quotes: quotesOf({ a: 1, b: 2 }) });
    expect((await headJson(store, "pro/indices.json")).indices).toMatchObject([
      { id: "composite", name: "composite" },
      { id: "3d-nand------co", name: "3D-NAND; é & co" },
      { id: "x".repeat(200), name: long },
    ]);
  });

  test("a duplicate id, no rows, and quotes for a contract that is no longer there", async () => {
    expect(await complaints({ catalog: catalogOf(["a", "b", "a"]) })).toContain(
      'catalog.csv:4: id "a" appears twice, first at catalog.csv:2',
    );
    expect(await complaints({ catalog: catalogOf([]) })).toContain(
      "catalog.csv: no rows, expected at least one contract",
    );
    const store = new MemoryStore();
    await mustPublish(store, { catalog: CATALOG, quotes: quotesOf({ a: 1, b: 2 }) });
    const before = await contentOf(store);
    const { code, said } = await tryPublish(store, {
      session: "2026-11-21T12Z",
      catalog: catalogOf(["a"]),
      quotes: quotesOf({ a: 1, b: 2 }),
    });
    expect([code, said[1]]).toEqual([
      2,
      'quotes.csv:3 id "b": expected a contract of the catalog; --ignore-unknown leaves such rows out',
    ]);
    expect(await contentOf(store)).toEqual(before);
  });
});

test("every error of every input is reported at once", async () => {
  const said = await complaints({
    catalog: catalogOf([{ id: "a", board: "x" }, { id: "B" }, "c", "d"]),
    quotes: [
      lines("id,spot_usd,basis", "a,-1,guess", "c,5,", "ghost,5,"),
      '[{"id":"c","spot_usd":6},{"id":"d","spot_usd":"x","as_of":"never"},7]',
    ],
    closes: ['{"id":"c","date":"2026-13-01","close_usd":1}\n\n{"id":"c"', lines("id,close", "a,1")],
  });
  expect(said.map((line) => line.replace(/: expected.*|: not JSON.*/, ""))).toEqual(
    [
      "14 errors in the input; nothing was written",
      'catalog.csv:2 board "x"',
      'catalog.csv:3 id "B"',
      'quotes.csv:2 spot_usd "-1"',
      'quotes.csv:2 basis "guess"',
      'quotes.csv:4 id "ghost"',
      'quotes-2.json[0] level "6"',
      'quotes-2.json[1] spot_usd "x"',
      'quotes-2.json[1] as_of "never"',
      "quotes-2.json[2]",
      'closes.ndjson:1 date "2026-13-01"',
      "closes.ndjson:3",
      'closes-2.csv:1: unknown column "close", expected id, date, close_usd, break, low_usd, high_usd',
      'closes-2.csv:1: the header lacks the column "date"',
      'closes-2.csv:1: the header lacks the column "close_usd"',
    ].map((line) => line.replace(/: expected.*/, "")),
  );
});

describe("texts", () => {
  test("quoted line breaks do not shift the lines of later errors", async () => {
    const quotes = 'id,spot_usd,source\r\na,1,"two\r\nlines"\r\n\r\nb,-1,x\r\n';
    expect((await complaints({ ...SPARSE, quotes }))[1]).toMatch(/^quotes\.csv:5 spot_usd "-1"/);
  });

  test("a quote that is not closed, and a quote inside a field", async () => {
    expect((await complaints({ ...SPARSE, quotes: 'id,spot_usd\na,1\n"b,1\n' }))[1]).toMatch(
      /^quotes\.csv:\d: a quoted field is not closed$/,
    );
    expect((await complaints({ ...SPARSE, quotes: 'id,spot_usd\na"x,1\n' }))[1]).toMatch(
      /^quotes\.csv:2: not valid CSV \(RFC 4180\)/,
    );
  });

  test("a file that is cut inside its last line break is refused", async () => {
    const unquoted = await complaints({ ...SPARSE, quotes: "id,spot_usd\r\na,1\r" });
    expect(unquoted[1]).toMatch(/^quotes\.csv:2 spot_usd "1\\r": expected a number above 0/);
    const quoted = await complaints({ ...SPARSE, quotes: 'id,spot_usd\r\na,"1"\r' });
    expect(quoted[1]).toMatch(/^quotes\.csv:2: not valid CSV \(RFC 4180\): text after the closing/);
  });

  test.each(["\u0000", "\u0007", "\u001b[31m", "\u009b"])(
    "the control character %j is refused, and escaped in the message",
    async (character) => {
      const quotes = `[${JSON.stringify({ id: "a", spot_usd: 1, source: `x${character}` })}]`;
      const [, complaint = ""] = await complaints({ ...SPARSE, quotes });
      expect(complaint).toMatch(/^quotes\.json\[0\] source "x\\u00/);
      expect(complaint).not.toMatch(/\p{Cc}/u);
    },
  );

  test("a cell of 10 MB or nearly 1 MB: the message names its line and shortens it", async () => {
    const huge = "x".repeat(10_000_000);
    const [, csv = ""] = await complaints({
      ...SPARSE,
      quotes: lines("id,spot_usd", "a,1", `b,${huge}`),
    });
    expect(csv).toBe("quotes.csv:3: a row of more than 1000000 characters");
    const [, json = ""] = await complaints({
      ...SPARSE,
      quotes: `[{"id":"a","spot_usd":"${huge.slice(0, 900_000)}"}]`,
    });
    expect(json).toMatch(/^quotes\.json\[0\] spot_usd "x{120}…": expected/);
  });

  test("names like formulas are data in JSON and text in CSV", async () => {
    const names = ["=1+1", "+1", "-1", "@SUM(A1)", "'quoted"];
    const store = new MemoryStore();
    const catalog = catalogOf(names.map((name, n) => ({ id: `c${n}`, name })));
    const levels = Object.fromEntries(names.map((_, n) => [`c${n}`, 5]));
    await mustPublish(store, { session: "2026-11-20T12Z", catalog, quotes: quotesOf(levels) });
    await mustPublish(store, { quotes: quotesOf(levels) });
    const board = await headJson(store, "pro/board.json");
    expect(board.memory.map((row: { name: string }) => row.name)).toEqual(names);
    const csv = String(await store.get("sessions/2026-11-21T00Z/r1/pro/export.csv"));
    expect(csv).toMatch(
      /,'=1\+1,DRAM,.*,'\+1,DRAM,.*,'-1,DRAM,.*,'@SUM\(A1\),DRAM,.*,'quoted,DRAM,/s,
    );
  });
});
