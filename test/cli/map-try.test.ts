/** `map --try`: from files as others write them to a published level, by the proposed map alone. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalogOf, lines } from "./small-market.ts";
import { jsonIn, runIn } from "./publish-folder.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-map-try-"));
  writeFileSync(
    join(folder, "c.csv"),
    catalogOf([
      { id: "d5", name: "DDR5 16Gb (2Gx8) 4800/5600" },
      { id: "n3", name: "Wafer 3 nm" },
    ])
      .replace(",D5,", ",D5-16G,")
      .replace(",N3,", ",N3-300,"),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

const NOON = { env: { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" } };
const put = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(folder, name), content);
  return name;
};
const packed = (base64: string): Uint8Array => Buffer.from(base64, "base64");

interface Shape {
  readonly what: string;
  readonly name: string;
  readonly bytes: string | Uint8Array;
  /** Members of the proposed map. */
  readonly map: object;
  /** Each published close, and each level of a session. */
  readonly closes: readonly string[];
  readonly kind?: "quotes";
}

const SHAPES: readonly Shape[] = [
  {
    what: "a statistics office's CSV",
    name: "office.csv",
    bytes:
      "\ufeffPrices of producers\r\nUnit: USD\r\n\r\nProduct;Month;Price;Index\r\n" +
      "Wafer 3nm;2026M09;19 500,00;100,0\r\nDDR5 16Gb (2Gx8)  4800/5600;2026M10;11,75 (p);102,2\r\n" +
      "Wafer 3nm;2026M10;19 750,00 (p);101,3\r\n(p) provisional\r\nSource: the office\r\n",
    map: { delimiter: ";", decimal: ",", thousands: " ", marks: ["(p)"], day: "last" },
    closes: ["d5 2026-10-31 11.75", "n3 2026-09-30 19500", "n3 2026-10-31 19750"],
  },
  {
    what: "a wide table, in Shift JIS",
    name: "wide.csv",
    bytes: packed(
      "k/qVdCxERFI1IDE2R2IoMkd4OCkgNDgwMC81NjAwLHdhZmVyIDNubQoyMDI2LzExLzIwLCwKMjAyNi8xMS8yMSwxMi40MCwiMTksNTAwIgo=",
    ),
    map: { encoding: "shift_jis", dates: "YYYY/MM/DD", wide: { date: "日付" } },
    closes: ["d5 2026-11-21 12.4", "n3 2026-11-21 19500"],
  },
  {
    what: "a scraper's JSON",
    name: "scraper.json",
    bytes: JSON.stringify({
      generated_at: "2026-11-21T08:00:00Z",
      sources: [["a", "b"]],
      observations: [
        {
          cadence: "daily",
          collected_at: "2026-11-20T08:00:00Z",
          currency: "USD",
          date: "2026-11-20",
          product_id: "n3",
          values: { average: "$19,400.00", high: "$19,900.00" },
        },
        {
          cadence: "daily",
          collected_at: "2026-11-21T08:01:00Z",
          currency: "USD",
          date: "2026-11-21",
          product_id: "d5",
          values: { average: "$12.40", high: null },
        },
        {
          cadence: "daily",
          collected_at: "2026-11-21T08:02:00Z",
          currency: "USD",
          date: "2026-11-21",
          product_id: "n3",
          values: { average: "$19,500.00", high: "$19,900.00" },
        },
      ],
    }),
    map: {
      rows: "observations",
      currency: "$",
      columns: { id: "product_id", date: "date", close_usd: "values.average" },
    },
    closes: ["d5 2026-11-21 12.4", "n3 2026-11-20 19400", "n3 2026-11-21 19500"],
  },
  {
    what: "a bank's table with a column without a name",
    name: "d5.csv",
    bytes: lines(
      '"",CBBD.M.D5.USD,CBBD.M.D5.USD_FLAGS',
      '"",Price of a chip,',
      "unit,USD,",
      "last update,2026-11-20 13:40:39,",
      "2026-08,11.250,",
      "2026-09,11.500,",
      "2026-10,11.750,",
      '"","General: average of',
      'the month, see ""notes"".",',
    ),
    map: { skip: ['""', "unit", "last update"], dates: "YYYY-MM", constants: { id: "d5" } },
    closes: ["d5 2026-08-31 11.25", "d5 2026-09-30 11.5", "d5 2026-10-31 11.75"],
  },
  {
    what: "an exchange's file",
    name: "n3.csv",
    bytes: lines(
      '"Date","Price","Open","High","Low","Vol.","Change %"',
      '"Nov 21, 2026","19,500.00","19,400.00","19,600.00","19,350.00","12.3K","0.52%"',
      '"Nov 20, 2026","19,400.00","19,380.00","19,450.00","19,300.00","10.1K","-0.10%"',
    ),
    map: { thousands: ",", dates: "MMM D, YYYY", columns: { date: "Date", close_usd: "Price" } },
    closes: ["n3 2026-11-20 19400", "n3 2026-11-21 19500"],
  },
  {
    what: "an exchange's file without a header, after Excel's line",
    name: "n3.csv",
    bytes: "sep=;\r\n20-NOV-26;19.400,00\r\n21-NOV-26;19.500,00\r\n",
    map: { header: false, decimal: ",", thousands: ".", columns: { date: 1, close_usd: 2 } },
    closes: ["n3 2026-11-20 19400", "n3 2026-11-21 19500"],
  },
  {
    what: "an array of arrays within an array",
    name: "n3.json",
    bytes: '[{"page":1},[["2026-11-20T00:00:00Z",19400],["2026-11-21T00:00:00Z",19500.0]]]',
    map: { rows: "1", dates: "YYYY-MM-DD*", columns: { date: 1, close_usd: 2 } },
    closes: ["n3 2026-11-20 19400", "n3 2026-11-21 19500"],
  },
  {
    what: "an exchange's candles, with milliseconds since 1970",
    name: "n3.json",
    bytes:
      '{"code":0,"data":[[1795132800000,"19300","19400","19300","19400",1200],[1795219200000,"19400","19600","19300","19500",1300]]}',
    map: { rows: "data", dates: "x", constants: { id: "n3" } },
    closes: ["n3 2026-11-20 19300", "n3 2026-11-21 19400"],
  },
  {
    what: "levels of sessions in NDJSON",
    name: "quotes.ndjson",
    bytes: '{"sym":"D5-16G","px":12.4,"lot":1}\n{"sym":"N3-300","px":19500,"lot":1}\n',
    map: { columns: { id: "sym", spot_usd: "px" } },
    closes: ["d5 2026-11-21 12.4", "n3 2026-11-21 19500"],
    kind: "quotes",
  },
  {
    what: "a file in our own form",
    name: "ours.csv",
    bytes: lines("id,date,close_usd", "d5,2026-11-20,12.3", "d5,2026-11-21,12.4"),
    map: {},
    closes: ["d5 2026-11-20 12.3", "d5 2026-11-21 12.4"],
  },
];

const closesIn = (store: string): string[] =>
  ["d5", "n3"].flatMap((id) => {
    const path = `${store}/sessions/2026-11-21T12Z/r1/pro/contracts/${id}.json`;
    if (!existsSync(join(folder, `${path}.gz`))) return [];
    const { history } = jsonIn(folder, path) as { history: { date: string; close_usd: number }[] };
    return history.map(({ date, close_usd }) => `${id} ${date} ${close_usd}`);
  });

describe.each(SHAPES)("$what", (shape) => {
  const at = SHAPES.indexOf(shape);
  const { name, bytes, map, closes, kind = "closes" } = shape;

  test("is published by the output of map --try alone", async () => {
    put(name, bytes);
    const before = readdirSync(folder);
    const tried = await runIn(folder, `map --try ${name} --catalog c.csv`, NOON);
    expect([tried.code, readdirSync(folder)], tried.stderr).toEqual([0, before]);
    expect(tried.stdout).toContain(`${closes.length} levels for publish --${kind}\n`);
    put(`map-${at}.json`, tried.stdout);
    const line = `publish --catalog c.csv --${kind} ${name} --map map-${at}.json --allow-sparse`;
    const { code, stderr } = await runIn(folder, `${line} --store s${at}`, NOON);
    expect(code, stderr).toBe(0);
    expect(closesIn(`s${at}`)).toEqual(closes);
  });

  test("is shown with its rows and its map to programs", async () => {
    put(name, bytes);
    const { code, stdout } = await runIn(folder, `map --try ${name} --catalog c.csv --json`, NOON);
    const shown = JSON.parse(stdout);
    expect([code, shown.kind, shown.levels]).toEqual([0, kind, closes.length]);
    expect(shown.map).toMatchObject(map);
    const rows = shown.rows.map((row: Record<string, string>) =>
      [
        row["id"],
        (row["date"] ?? row["session_utc"])?.slice(0, 10),
        row["close_usd"] ?? row["spot_usd"],
      ].join(" "),
    );
    expect(rows.toSorted()).toEqual(closes);
  });
});

test("ten rows are shown, ids are made of names without a catalog, and a map can be tried again", async () => {
  const days = Array.from({ length: 12 }, (_, day) => `2026-11-${10 + day},${day + 1},${day + 2}`);
  put("many.csv", lines("Day,Chip A,Chip B", ...days.slice(0, 11), "2026-11-21,12 e,x"));
  const { code, stdout, stderr } = await runIn(folder, "map --try many.csv", NOON);
  expect(code).toBe(2);
  expect(stdout.split("\n").filter((line) => line.startsWith("# chip-")).length).toBe(10);
  expect(stdout).toContain("# chip-a  2026-11-10  1\n# chip-b  2026-11-10  2\n");
  expect(stderr).toContain("Check: ids are made of the names: give --catalog");
  expect(stderr).toContain(
    'error: 1 error in the input; nothing was written\n  many.csv:13 Chip B "x": ',
  );
  put("many.json", stdout.replace('"e"', '"e", "x"'));
  const again = await runIn(folder, "map --try many.csv --with many.json", NOON);
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringContaining("# 23 levels for publish --closes"),
  ]);
});

test("dates of two forms and levels of two forms are told, and not chosen", async () => {
  put("n3.csv", lines("Day;Last", "03/04/2026;19,400", "05/06/2026;19,500"));
  const { code, stdout, stderr } = await runIn(folder, "map --try n3.csv", NOON);
  expect(code).toBe(2);
  expect(stdout).toContain('"dates": [\n    "DD/MM/YYYY",\n    "MM/DD/YYYY"\n  ]');
  expect(stderr).toContain(
    "Check: dates are DD/MM/YYYY or MM/DD/YYYY: leave the right form in dates",
  );
  expect(stderr).toContain('Check: is "19,400" with thousands or with decimals?');
  expect(stderr).toContain('n3.csv:2 Day "03/04/2026": expected a date such as');
});

test("a level among several numbers is asked about, if no name tells it", async () => {
  put("candles.json", '[["2026-11-20",1,2,3],["2026-11-21",1,2,3]]');
  const { stderr } = await runIn(folder, "map --try candles.json", NOON);
  expect(stderr).toContain("Check: 3 columns have numbers: does 2 have the levels?");
});

test("of a file whose rows all have names of their own, a thousand columns are looked at", async () => {
  const rows = Array.from({ length: 20 }, (_, row) =>
    Object.fromEntries(Array.from({ length: 100 }, (__, at) => [`c${row}-${at}`, 1.5])),
  );
  const { code, stderr } = await runIn(
    folder,
    `map --try ${put("own-names.json", JSON.stringify(rows))}`,
    NOON,
  );
  expect([code, stderr]).toEqual([2, expect.stringContaining("Check: 1000 columns have numbers")]);
});

test("a file without an end is refused", async () => {
  const { code, stderr } = await runIn(folder, "map --try /dev/zero", NOON);
  expect([code, stderr]).toEqual([2, expect.stringContaining("/dev/zero: more than 256 MB")]);
});

test.each([
  ["nothing.csv", "", "nothing.csv: no table was found"],
  ["text.txt", "no table\n", "text.txt: no table was found"],
  ["names.csv", "a;b\nc;d\n", "Check: no column has numbers"],
  ["deep.json", `${"[".repeat(20_000)}${"]".repeat(20_000)}`, "no table was found"],
])("%s is refused", async (name, text, told) => {
  const { code, stderr } = await runIn(folder, `map --try ${put(name, text)}`, NOON);
  expect([code, stderr]).toEqual([2, expect.stringContaining(told)]);
});

test("a file that is not there is refused, and the help has examples", async () => {
  const { code, stderr } = await runIn(folder, "map --try nowhere.csv", NOON);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("Cannot read nowhere.csv: no such file"),
  ]);
  expect((await runIn(folder, "map --help")).stdout).toContain("$ chipboard map --try prices.csv");
  expect((await runIn(folder, "map")).stderr).toContain("required option '--try <source>'");
  expect(readFileSync(join(folder, "c.csv"), "utf8")).toContain("D5-16G");
});
