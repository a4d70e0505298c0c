/** `--map`: files as others write them, to a served price, without a converter. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withRegistry } from "../../src/state/open.ts";
import { serve, type Ran } from "../program/program.ts";
import { catalogOf, lines } from "./small-market.ts";
import { jsonIn, runIn } from "./publish-folder.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-map-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b", { id: "k", unit: "KRW per piece" }]));
});
afterAll(() => rmSync(folder, { recursive: true }));

const put = (name: string, content: string | Uint8Array | object): string => {
  const isFile = typeof content === "string" || content instanceof Uint8Array;
  writeFileSync(join(folder, name), isFile ? content : JSON.stringify(content));
  return name;
};
const packed = (base64: string): Uint8Array => Buffer.from(base64, "base64");

const IDS = { "A-1": "a", "B-1": "b" };
const GERMAN = "Artikel;Bezeichnung;Preis;Tief;Hoch;Stand\r\n";
const GERMAN_MAP = {
  delimiter: ";",
  decimal: ",",
  thousands: ".",
  dates: "DD.MM.YYYY",
  columns: { id: "Artikel", spot_usd: "Preis", low_usd: "Tief", high_usd: "Hoch", as_of: "Stand" },
  constants: { basis: "assessed" },
  ids: IDS,
};

/** Each with its map, and the levels that it gives: id, level, and the day of the level. */
const FILES = [
  {
    what: "German Excel's CSV UTF-8",
    option: "quotes",
    bytes: `\ufeff${GERMAN}A-1;Müller, groß;1.234,50;1.200;1.300;20.11.2026\r\nB-1;x;12,4;12;12,4;3.11.2026\r\n`,
    map: GERMAN_MAP,
    levels: ["a 1234.5 2026-11-20 assessed", "b 12.4 2026-11-03 assessed"],
  },
  {
    what: "German Excel's CSV of Windows",
    option: "quotes",
    bytes: Buffer.from(`${GERMAN}A-1;Größe;12;;;20.11.2026\r\n`, "latin1"),
    map: { ...GERMAN_MAP, encoding: "latin1" },
    levels: ["a 12 2026-11-20 assessed"],
  },
  {
    what: "Korean Excel's CSV: thousands in won, in CP949",
    option: "quotes",
    bytes: packed(
      "x7C48Sy03MCnLLChsN0sseLB2MDPDQq18LelIDE2R2IssLMsIjM3LDQ0MCIsMjAyNi4gMTEuIDIwDQois7215SwgNTEyR2IiLLCzLCIxLDE1MiwwMDAiLDIwMjYuIDExLiAxOQ0K",
    ),
    map: {
      encoding: "CP949",
      thousands: ",",
      dates: "YYYY. MM. DD",
      columns: { id: "품목", spot_usd: "가격", as_of: "기준일" },
      ids: { "디램 16Gb": "k", "낸드, 512Gb": "b" },
    },
    levels: ["b 1152000 2026-11-19 reported", "k 37440 2026-11-20 reported"],
  },
  {
    what: "Japanese Excel's CSV, with a column for each contract",
    option: "closes",
    bytes: packed(
      "k/qVdCyCY4JxgmCCbCyDRYNHg24NCjIwMjaUTjExjI4yMJP6LCIxLDIzNC41IiwNCjIwMjaUTjExjI4yMZP6LCIxLDI0MCIsMTk1MDANCg==",
    ),
    map: {
      encoding: "shift_jis",
      thousands: ",",
      dates: "YYYY年MM月DD日",
      ids: { ＤＲＡＭ: "a", ウエハ: "b" },
      wide: { date: "日付" },
    },
    levels: ["a 1240 2026-11-21 reported", "b 19500 2026-11-21 reported"],
  },
  {
    what: "French Excel's CSV, with no-break spaces between thousands",
    option: "closes",
    bytes: Buffer.from(
      "Réf;Jour;Clôture\nA-1;20/11/2026;1\u00a0234,56\nA-1;21/11/2026;1\u00a0235\n",
      "latin1",
    ),
    map: {
      delimiter: ";",
      encoding: "windows-1252",
      decimal: ",",
      thousands: " ",
      dates: "DD/MM/YYYY",
      columns: { id: "Réf", date: "Jour", close_usd: "Clôture" },
      ids: IDS,
    },
    levels: ["a 1235 2026-11-21 reported"],
  },
  {
    what: "Excel's Unicode text: tabs, in UTF-16",
    option: "quotes",
    bytes: Buffer.from('\ufeffPart\tPrice\tAs of\r\nA-1\t"1,234.5"\t11/20/2026\r\n', "utf16le"),
    map: {
      delimiter: "\t",
      encoding: "utf-16le",
      thousands: ",",
      dates: "M/D/YYYY",
      columns: { id: "Part", spot_usd: "Price", as_of: "As of" },
      ids: IDS,
    },
    levels: ["a 1234.5 2026-11-20 reported"],
  },
  {
    what: "sessions with a column for each contract, and a single quotation mark between thousands",
    option: "quotes",
    bytes: "\ufeffSitzung|A-1|B-1\r\n2026-11-20T12Z|1’233|11.5\r\n2026-11-21T12Z|1'234.5|12\r\n",
    map: { delimiter: "|", thousands: "'", ids: IDS, wide: { session_utc: "Sitzung" } },
    levels: ["a 1234.5 2026-11-21 reported", "b 12 2026-11-21 reported"],
  },
  {
    what: "the closes of one contract, with dates of three forms",
    option: "closes",
    bytes: "Tag;Schluss\n19.11.2026;11\n20261120;11,5\n2026-11-21;12\n",
    map: {
      delimiter: ";",
      decimal: ",",
      dates: ["DD.MM.YYYY", "YYYYMMDD", "YYYY-MM-DD"],
      columns: { date: "Tag", close_usd: "Schluss" },
      constants: { id: "a" },
    },
    levels: ["a 12 2026-11-21 reported"],
  },
  {
    what: "a scraper's JSON: an envelope, members within others, signs of dollars",
    option: "closes",
    bytes: JSON.stringify({
      status: "ok",
      data: {
        units: [["USD"]],
        prices: [
          {
            product: { code: "A-1" },
            day: "11/20/2026",
            values: { "avg.": "$1,234.50", low: null },
          },
          {
            product: { code: "A-1" },
            day: "11/21/2026",
            values: { "avg.": "$1,235", low: "$1,230" },
          },
          { product: { code: "B-1" }, day: "11/21/2026", values: { "avg.": 12.4 } },
        ],
      },
      next: null,
    }),
    map: {
      rows: "data.prices",
      thousands: ",",
      currency: "$",
      dates: "M/D/YYYY",
      columns: { id: "product.code", date: "day", close_usd: "values.avg." },
      ids: IDS,
    },
    levels: ["a 1235 2026-11-21 reported", "b 12.4 2026-11-21 reported"],
  },
  {
    what: "NDJSON with other names, and numbers with exponents",
    name: "feed.ndjson",
    option: "quotes",
    bytes: '{"code":"A-1","usd":1.2345e3,"more":{"x":1}}\n\n{"code":"B-1","usd":"12.40"}\n',
    map: { columns: { id: "code", spot_usd: "usd" }, ids: IDS },
    levels: ["a 1234.5 2026-11-21 reported", "b 12.4 2026-11-21 reported"],
  },
  {
    what: "objects with a member for each contract",
    name: "feed.json",
    option: "closes",
    bytes: '[{"t":"20-Nov-26","p":{"A":11,"B":null}},\n{"t":"21-Nov-26","p":{"A":11.5,"B":"12"}}]',
    map: { dates: "D-MMM-YY", ids: { "p.A": "a", "p.B": "b" }, wide: { date: "t" } },
    levels: ["a 11.5 2026-11-21 reported", "b 12 2026-11-21 reported"],
  },
  {
    what: "arrays as rows, in the second element of an array",
    option: "closes",
    bytes: '[{"page":1},[["2026-11-20",12.4],["2026-11-21",12.5]]]',
    map: { rows: "1", columns: { date: 1, close_usd: 2 }, constants: { id: "a" } },
    levels: ["a 12.5 2026-11-21 reported"],
  },
  {
    what: "a bank's table: a column without a name, lines that are no rows, months without a day",
    option: "closes",
    bytes: lines(
      '"",M.XAU.USD,M.XAU.USD_FLAGS',
      '"",Price of an ounce,',
      "unit,USD,",
      "unit multiplier,one,",
      "last update,2026-11-20 13:40:39,",
      "2026-09,1199.198,",
      "2026-10,1215.390,",
      '"","General: as of the',
      'last day, see ""notes""",',
    ),
    map: {
      skip: ['""', "unit", "last"],
      day: "last",
      columns: { date: "", close_usd: "M.XAU.USD" },
      constants: { id: "a" },
    },
    levels: [],
    closes: ["2026-09-30 1199.198", "2026-10-31 1215.39"],
  },
  {
    what: "a statistics office's CSV: a title, months with an M, marks for provisional levels",
    option: "closes",
    bytes:
      "Index of prices\r\nUnit: USD\r\n\r\nPeriod;A-1;B-1\r\n2026M09;11,50;12,1*\r\n2026M10;11,75 (p);…\r\n",
    map: {
      skip: 3,
      delimiter: ";",
      decimal: ",",
      dates: "YYYY[M]MM",
      day: "first",
      marks: { "(p)": "estimated", "*": "", "…": null },
      ids: IDS,
      wide: { date: "Period" },
    },
    levels: [],
    closes: ["2026-09-01 11.5", "2026-10-01 11.75"],
  },
  {
    what: "an exchange's file without a header, columns by their places",
    option: "closes",
    bytes: 'sep=,\r\nX,"Nov 20, 2026",12,12.40 p\r\nX,"Nov 21, 2026",13,e 12.50\r\n',
    map: {
      header: false,
      dates: "MMM D, YYYY",
      marks: { p: "assessed", e: "estimated" },
      columns: { date: 2, close_usd: 4 },
      constants: { id: "a" },
    },
    levels: ["a 12.5 2026-11-21 estimated"],
  },
  {
    what: "marks that stand for a basis, over a constant, beside a currency in words",
    option: "quotes",
    bytes: lines("Code,Price", "A-1,USD 12.40 e", "B-1,12.50 USD"),
    map: {
      currency: "USD",
      marks: { e: "estimated" },
      columns: { id: "Code", spot_usd: "Price" },
      constants: { basis: "assessed" },
      ids: IDS,
    },
    levels: ["a 12.4 2026-11-21 estimated", "b 12.5 2026-11-21 assessed"],
  },
  {
    what: "decimal commas within quotation marks, between commas",
    option: "closes",
    bytes: lines('"Datum","Zuletzt"', '"20.11.2026","1.233,50"', '"21.11.2026","1.234,5"'),
    map: {
      decimal: ",",
      thousands: ".",
      dates: "DD.MM.YYYY",
      columns: { date: "Datum", close_usd: "Zuletzt" },
      constants: { id: "a" },
    },
    levels: ["a 1234.5 2026-11-21 reported"],
  },
  {
    what: "decimal commas in a file that names its separator",
    option: "quotes",
    bytes: "sep=;\r\nid;spot_usd\r\na;11,5\r\n",
    map: { decimal: "," },
    levels: ["a 11.5 2026-11-21 reported"],
  },
  {
    what: "instants in seconds, and dates with a time of day",
    option: "closes",
    name: "feed.ndjson",
    bytes: '{"t":1795132800,"p":11}\n{"t":"2026-11-21T18:10:07+09:00","p":12}\n',
    map: {
      dates: ["X", "YYYY-MM-DD*"],
      columns: { date: "t", close_usd: "p" },
      constants: { id: "a" },
    },
    levels: ["a 12 2026-11-21 reported"],
  },
  {
    what: "marks of footnotes beside names",
    option: "quotes",
    bytes: lines("Code,spot_usd", "A-1 *,12.40", "†b,12.50†"),
    map: { marks: ["*", "†"], columns: { id: "Code" }, ids: IDS },
    levels: ["a 12.4 2026-11-21 reported", "b 12.5 2026-11-21 reported"],
  },
  {
    what: "lines of a report between and below the rows, and a separator that the file names",
    option: "quotes",
    bytes: 'sep=;\nReport; "x\nid;spot_usd\na;11\nTotal 1\nb;12\nTotal; 12" x\n',
    map: { skip: [2, "Total"] },
    levels: ["a 11 2026-11-21 reported", "b 12 2026-11-21 reported"],
  },
] as const;

const NOON = { env: { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" } };
const HEAD = "sessions/2026-11-21T12Z/r1/pro";

interface Levels {
  readonly memory: { id: string; spot_usd: number; as_of: string; basis: string }[];
}

const levelsIn = (store: string): string[] =>
  (jsonIn(folder, `${store}/${HEAD}/board.json`) as Levels).memory
    .filter(({ basis }) => basis !== "carried")
    .map(({ id, spot_usd, as_of, basis }) => `${id} ${spot_usd} ${as_of} ${basis}`);

/** The options that publish one of the files. */
const optionsFor = (file: (typeof FILES)[number], map: object): string => {
  const name = "name" in file ? file.name : "feed.csv";
  return `--${file.option} ${put(name, file.bytes)} --map ${put("map.json", map)} --allow-sparse`;
};

test.each(FILES)("$what", async (file) => {
  const store = `s${FILES.indexOf(file)}`;
  const line = `publish --catalog c.csv ${optionsFor(file, file.map)} --store ${store}`;
  const { code, stderr } = await runIn(folder, line, NOON);
  expect(code, stderr).toBe(0);
  expect(levelsIn(store)).toEqual(file.levels);
  if (!("closes" in file)) return;
  const { history } = jsonIn(folder, `${store}/sessions/2026-11-21T12Z/r1/pro/contracts/a.json`);
  const closes = history as { date: string; close_usd: number }[];
  expect(closes.map(({ date, close_usd }) => `${date} ${close_usd}`)).toEqual(file.closes);
});

test("what the store keeps makes the same snapshot again", async () => {
  const file = FILES[3];
  await runIn(folder, `publish --catalog c.csv ${optionsFor(file, file.map)} --store kept`, NOON);
  await runIn(folder, "snapshots inputs --store kept --out made-from");
  const names = ["1-catalog-c.csv", "2-map-map.json", "3-closes-feed.csv"];
  expect(readdirSync(join(folder, "made-from"))).toEqual(names);
  expect(readFileSync(join(folder, "made-from/3-closes-feed.csv"))).toEqual(file.bytes);
  const [catalog, map, closes] = names.map((name) => `made-from/${name}`);
  const line = `publish --catalog ${catalog} --map ${map} --closes ${closes} --allow-sparse`;
  expect((await runIn(folder, `${line} --store again`, NOON)).code).toBe(0);
  const [one, other] = ["kept", "again"].map((store) =>
    jsonIn(folder, `${store}/sessions/2026-11-21T12Z/r1/manifest.json`),
  );
  expect(other.identity).toBe(one.identity);
  expect(one.inputs[1]).toMatchObject({ kind: "map", name: "map.json", rows: 0 });
});

test("from a Japanese, a German and a Korean file to served prices", async () => {
  const publish = async (at: number, now: string): Promise<void> => {
    const file = FILES[at] as (typeof FILES)[number];
    // The levels are of the session, whatever their day in the file is.
    const columns = { ...("columns" in file.map && file.map.columns), as_of: undefined };
    const line = `publish --catalog c.csv ${optionsFor(file, { ...file.map, columns })}`;
    const env = { CHIPBOARD_NOW: now };
    const { code, stderr } = await runIn(
      folder,
      `${line} --accept-moves --max-index-move 1000000 --store served`,
      { env },
    );
    expect(code, stderr).toBe(0);
  };
  await publish(3, "2026-11-21T12:05:00Z");
  await publish(0, "2026-11-22T00:05:00Z");
  await publish(2, "2026-11-22T12:05:00Z");
  const clock = { now: () => Date.parse("2026-11-22T12:10:00Z") };
  const key = await withRegistry(join(folder, "state"), clock, "create", async (registry) => {
    await registry.addAccount("reader", "pro", null);
    return (await registry.createKey("reader", null)).key;
  });
  const proxy = await serve(["--store", "served", "--state", "state"], {
    cwd: folder,
    env: { CHIPBOARD_NOW: "2026-11-22T12:10:00Z" },
  });
  const priceOf = async (id: string): Promise<unknown[]> => {
    const answer = await fetch(`${proxy.url}/api/public/v1/prices/${id}`, {
      headers: { "x-api-key": key },
    });
    const { spot_usd, unit } = (await answer.json()) as Record<string, unknown>;
    return [spot_usd, unit];
  };
  expect(await priceOf("a")).toEqual([1234.5, "USD per piece"]);
  expect(await priceOf("b")).toEqual([1_152_000, "USD per piece"]);
  expect(await priceOf("k")).toEqual([37_440, "KRW per piece"]);
  await proxy.end();
});

/** Publishes a feed by a map, and returns the messages of a run that must fail and write nothing. */
async function refused(
  map: unknown,
  feed: string | Uint8Array,
  option = "quotes",
  more = "",
): Promise<string[]> {
  put("wrong.json", typeof map === "string" ? map : JSON.stringify(map));
  const line = `publish --catalog c.csv --${option} ${put("feed.csv", feed)} --map wrong.json --store none${more}`;
  const ran: Ran = await runIn(folder, line);
  expect([ran.code, readdirSync(folder).includes("none")]).toEqual([2, false]);
  return ran.stderr.slice(ran.stderr.indexOf("error: ")).trimEnd().split("\n  ").slice(1);
}

const LEVEL = "expected a number above 0, at most 1000000000, with at most 6 decimals";
const DATE = "expected a date such as 2026-11-21, from 1900-01-01 on";

describe("a cell", () => {
  const quote = (usd: string, asOf = "20.11.2026"): Promise<string[]> =>
    refused(GERMAN_MAP, `${GERMAN}A-1;x;${usd};;;${asOf}\r\n`);

  test.each([
    ["12.34", ""],
    ["1.23", ""],
    ["12.345.67", ""],
    ["0.123", ""],
    ["1.234.5678", ""],
    ["1,234,5", ""],
    ["12,", ""],
    [",5", ""],
    ["-12,5", ""],
    ["0,00", ""],
    ["12,40 €", ""],
    ["1,2E+03", ""],
    ["12,1234567", "; --round rounds levels with more"],
    ["n/a", "; no level: --hold-invalid leaves such rows out"],
  ])("with the level %j is named as it came", async (usd, hint) => {
    const words = `${LEVEL}, written as 1.234,5${hint}`;
    expect(await quote(usd)).toEqual([`feed.csv:2 Preis "${usd}": ${words}`]);
  });

  test.each(["2026-11-20", "11/20/2026", "31.02.2026", "20.11.26", "20.11.2026 0:00", "46346"])(
    "with the date %j is named as it came",
    async (date) => {
      const words = `${DATE}, written as DD.MM.YYYY`;
      expect(await quote("12", date)).toEqual([`feed.csv:2 Stand "${date}": ${words}`]);
    },
  );

  test("that two forms of dates read differently is in none", async () => {
    const map = {
      dates: ["DD/MM/YYYY", "MM/DD/YYYY"],
      columns: { close_usd: "usd" },
    };
    const closes = lines(
      "id,date,usd",
      "a,20/11/2026,1",
      "a,11/19/2026,1",
      "a,05/05/2026,1",
      "a,03/04/2026,1",
    );
    expect(await refused(map, closes, "closes")).toEqual([
      `feed.csv:5 date "03/04/2026": ${DATE}, written as DD/MM/YYYY or MM/DD/YYYY, the same day in all of them that fit`,
    ]);
  });

  test("of an id that the catalog lacks is named as it came, with what the map makes of it", async () => {
    const map = { ...GERMAN_MAP, ids: { "A-1": "ghost" } };
    const feed = `${GERMAN}A-1;x;12;;;\r\nB-9;x;12;;;\r\n`;
    const unknown = "expected a contract of the catalog; --ignore-unknown leaves such rows out";
    expect(await refused(map, feed)).toEqual([
      `feed.csv:2 Artikel "A-1": ${unknown}; the map makes it "ghost"`,
      `feed.csv:3 Artikel "B-9": ${unknown}`,
    ]);
  });

  test("of a constant is named once, in the map", async () => {
    const map = { ...GERMAN_MAP, constants: { basis: "guessed" } };
    const feed = `${GERMAN}A-1;x;12;;;\r\nB-1;x;12;;;\r\n`;
    expect(await refused(map, feed, "quotes", " --hold-invalid")).toEqual([
      'wrong.json constants.basis "guessed": expected reported, assessed, estimated or withdrawn',
    ]);
  });

  test("of a wide table is named by its line and the contract's column", async () => {
    const map = {
      delimiter: ";",
      decimal: ",",
      dates: "DD.MM.YYYY",
      ids: IDS,
      wide: { date: "Tag" },
    };
    const feed = lines("Tag;A-1;C-1;", "19.11.2026;1,5;;", "20.11.26;1.5;2;", "20.11.2026;-;2;3");
    const unknown = "expected a contract of the catalog; --ignore-unknown leaves such rows out";
    const told = await refused(map, feed, "closes");
    expect(told).toEqual([
      `feed.csv:3 Tag "20.11.26": ${DATE}, written as DD.MM.YYYY`,
      `feed.csv:3 A-1 "1.5": ${LEVEL}, written as 1234,5`,
      `feed.csv:3 Tag "20.11.26": ${DATE}, written as DD.MM.YYYY`,
      `feed.csv:3 id "C-1": ${unknown}; 2 rows name it`,
      `feed.csv:4 A-1 "-": ${LEVEL}, written as 1234,5; no level: --hold-invalid leaves such rows out`,
      `feed.csv:4 id "": ${unknown}`,
    ]);
  });
});

describe("a file", () => {
  const quotes = lines("Artikel;Preis", "A-1;12");
  const COLUMNS = { id: "Artikel", spot_usd: "Preis" };

  test.each([
    [
      "of JSON without an array at the path of the rows",
      { rows: "data", columns: COLUMNS },
      '{"prices":{"spot":[{"Artikel":"a","Preis":1}]}}',
      'feed.csv: no array at "data", or write "rows": "prices.spot" in wrong.json',
    ],
    [
      "of JSON with the rows within an object that is cut",
      { rows: "prices", columns: COLUMNS },
      '{"prices":[{"Artikel":"a","Preis":1}],"more":',
      "feed.csv: not JSON: Unexpected end of JSON input",
    ],
    [
      "of JSON with two arrays of rows",
      { rows: "prices", columns: COLUMNS },
      '{"prices":[{"Artikel":"a","Preis":1}],"prices":[]}',
      'feed.csv: the member "prices" appears twice',
    ],
    [
      "of JSON with rows behind arrays of many levels",
      { rows: "prices", columns: COLUMNS },
      `{"x":${"[".repeat(100_000)}${"]".repeat(100_000)},"prices":[{"Artikel":"ghost","Preis":1}]}`,
      'feed.csv[0] Artikel "ghost": expected a contract of the catalog',
    ],
    [
      "of JSON with an object for rows",
      { rows: "prices", columns: COLUMNS },
      '{"prices":{"a":1}}',
      'feed.csv: no array at "prices"',
    ],
    [
      "of JSON without a member that the map names",
      { rows: "d", columns: { id: "Artikel", spot_usd: "usd.avg" } },
      '{"d":[{"Artikel":"a","usd":{"Avg":1}}]}',
      'feed.csv[0]: the field "usd.avg", which wrong.json names for spot_usd, is missing; write "usd.Avg"',
    ],
    [
      "of JSON with an array for a level",
      { rows: "d", columns: { id: "Artikel", spot_usd: "usd" } },
      '{"d":[{"Artikel":"a","usd":[1]}]}',
      'feed.csv[0] usd "[1]": expected text or a number',
    ],
    [
      "of JSON in which no row has a column of the map",
      { rows: "d", columns: { ...COLUMNS, as_of: "Stand" } },
      '{"d":[{"Artikel":"a","Preis":1},{"Artikel":"b","Preis":1}]}',
      'feed.csv: no row has the field "Stand", which wrong.json names for as_of',
    ],
    [
      "of JSON with a level twice in a row",
      { rows: "d", columns: COLUMNS },
      '{"d":[{"Artikel":"a","Preis":1,"Preis":2}]}',
      'feed.csv[0]: the field "Preis" appears twice',
    ],
    [
      "of JSON with a place where a row is an object",
      { rows: "d", columns: { id: "Artikel", spot_usd: 2 } },
      '{"d":[{"Artikel":"a","Preis":1}]}',
      "feed.csv[0]: the field column 2, which wrong.json names for spot_usd, is missing",
    ],
    [
      "with another currency's sign",
      { currency: "$", columns: COLUMNS },
      "Artikel,Preis\na,€12\n",
      `feed.csv:2 Preis "€12": ${LEVEL}, written as 1234.5, with or without $`,
    ],
    [
      "with two columns without a name",
      { columns: { id: "", spot_usd: "Preis" } },
      ",Preis,\na,1,\n",
      "feed.csv:1: 2 columns have no name; write the place of id in wrong.json: one of 1, 3",
    ],
    [
      "with less columns than a place of the map",
      { columns: { id: "Artikel", spot_usd: 3 } },
      "Artikel,Preis\na,1\n",
      "feed.csv:1: no column 3, which wrong.json names for spot_usd; the header has 2 columns",
    ],
    [
      "with a row in place of the header",
      { columns: { id: 1, spot_usd: 2 } },
      "a,11\nb,12\n",
      'feed.csv:1: looks like a row, expected a header; write "header": false in wrong.json',
    ],
    [
      "with a name of a column that has another case and blanks",
      { columns: { id: "Artikel", spot_usd: "Preis in USD" } },
      "Artikel,preis  in USD\na,1\n",
      'feed.csv:1: no column "Preis in USD", which wrong.json names for spot_usd; write "preis  in USD"',
    ],
    [
      "that says another separator than the map",
      { delimiter: "\t", columns: COLUMNS },
      "sep=;\nArtikel;Preis\na;1\n",
      'feed.csv:1: says that semicolons separate columns, expected tabs; write "delimiter": ";" in wrong.json',
    ],
    [
      "with a title above the header",
      { columns: COLUMNS },
      "Prices of November\n\nArtikel,Preis\na,1\n",
      'feed.csv:3: looks like the header, expected in line 1: delete the lines above it, or write "skip": 2 in wrong.json',
    ],
    [
      "with two bases in a cell",
      { marks: { p: "assessed", e: "estimated" }, columns: COLUMNS },
      "Artikel,Preis\na,1 p e\n",
      'feed.csv:2 Preis "1 p e": expected marks of one basis',
    ],
    [
      "with another basis than its mark",
      { marks: { e: "estimated" }, columns: { ...COLUMNS, basis: "Basis" } },
      "Artikel,Preis,Basis\na,1 e,assessed\n",
      'feed.csv:2 Basis "assessed": expected estimated, as the mark in spot_usd says',
    ],
    [
      "with a month for a day",
      { dates: ["YYYY-MM-DD"], columns: { ...COLUMNS, as_of: "Stand" } },
      "Artikel,Preis,Stand\na,1,2026-11\n",
      `feed.csv:2 Stand "2026-11": ${DATE}, written as YYYY-MM-DD`,
    ],
    [
      "without a column that the map names",
      { delimiter: ";", columns: { ...COLUMNS, as_of: "Stand" } },
      quotes,
      'feed.csv:1: no column "Stand", which wrong.json names for as_of; the header has "Artikel", "Preis"',
    ],
    [
      "with a column twice that the map names",
      { delimiter: ";", columns: COLUMNS },
      "Artikel;Preis;Preis\nA-1;1;2\n",
      'feed.csv:1: column "Preis" appears twice',
    ],
    [
      "with a column beside its constant",
      { delimiter: ";", columns: COLUMNS, constants: { basis: "assessed" } },
      "Artikel;Preis;basis\nA-1;1;reported\n",
      "feed.csv:1: a column for basis beside its constant in wrong.json, expected one of them",
    ],
    [
      "with a misspelled column of ours",
      { delimiter: ";", columns: COLUMNS },
      "Artikel;Preis;Basis\nA-1;1;reported\n",
      'feed.csv:1: unknown column "Basis", expected basis',
    ],
    [
      "with unknown columns, by a map that names none",
      { delimiter: ";" },
      "id;spot_usd;Lager\na;1;x\n",
      'feed.csv:1: unknown column "Lager", expected id, spot_usd,',
    ],
    [
      "with none of the columns",
      { delimiter: ";", columns: COLUMNS },
      "Kode;Kurs\nA-1;1\n",
      'feed.csv:1: no known column in "Kode", "Kurs", expected a header of Artikel, Preis, session_utc,',
    ],
    [
      "with another delimiter than the map says",
      { columns: COLUMNS },
      quotes,
      'feed.csv:1: columns separated by semicolons, expected a header of columns separated by commas; write "delimiter": ";" in wrong.json',
    ],
    [
      "with commas in place of the map's tabs",
      { delimiter: "\t" },
      "id,spot_usd\n",
      'feed.csv:1: columns separated by commas, expected a header of columns separated by tabs; write "delimiter": "," in wrong.json',
    ],
    [
      "in another encoding than the map says",
      { delimiter: ";", encoding: "windows-1252", columns: COLUMNS },
      Buffer.from(quotes, "utf16le"),
      "feed.csv:1: not windows-1252, which the map names",
    ],
    [
      "of Latin-1 that the map calls EUC-KR",
      { encoding: "euc-kr", columns: COLUMNS },
      Buffer.from("Artikel,Preis\nA-1,12\nZürich,1\n", "latin1"),
      "feed.csv:3: not euc-kr, which the map names",
    ],
    [
      "with a byte order mark of another encoding",
      { encoding: "windows-1252" },
      "\ufeffid,spot_usd\n",
      "feed.csv:1: starts with a UTF-8 byte order mark, expected windows-1252, which the map names",
    ],
    [
      "of UTF-16 that ends within a character",
      { encoding: "utf-16le" },
      Buffer.from("id,spot_usd\na,1\n", "utf16le").subarray(0, -1),
      "feed.csv:2: ends within a character, expected utf-16le",
    ],
    [
      "in UTF-16 that the map does not name",
      {},
      Buffer.from(`\ufeff${quotes}`, "utf16le"),
      "feed.csv:1: starts with a UTF-16 byte order mark, expected UTF-8",
    ],
  ])("%s", async (_, map, feed, told) => {
    const all = await refused(map, feed);
    expect(all.at(-1)).toContain(told);
    expect(all.length).toBeLessThan(3);
  });

  test.each([
    [
      lines("Tag,a", "19.11.2026,1"),
      'feed.csv:1: no column "Datum", which wrong.json names for date; the header has "Tag", "a"',
    ],
    [lines("Datum,a,a", "19.11.2026,1,2"), 'feed.csv:1: column "a" appears twice'],
    [
      `Datum,${"x,".repeat(20_000)}\n`,
      "feed.csv:1: 20002 columns, expected at most 20000; split it",
    ],
    [
      lines("Datum,a", "2026-11-19,1", "Datum,a"),
      "feed.csv:3: the header again, expected once: delete this line",
    ],
  ])("that is wide and wrong: %#", async (feed, told) => {
    expect(await refused({ wide: { date: "Datum" } }, feed, "closes")).toEqual([told]);
  });

  test("that is wide needs the member wide", async () => {
    const told = 'with "wide": {"date": "the column of dates"}';
    for (const map of [{}, { columns: { date: "Datum" } }]) {
      const closes = lines(`${"columns" in map ? "Datum" : "date"},a,b`, "2026-11-19,1,2");
      expect(await refused(map, closes, "closes")).toEqual([expect.stringContaining(told)]);
    }
  });

  test("without quotation marks around a line of 40 MB, or with one that opens, is refused", async () => {
    for (const begin of ["", '"']) {
      const feed = `Artikel;Preis\n${begin}${"1.".repeat(20_000_000)}`;
      const map = { delimiter: ";", decimal: ",", thousands: ".", columns: COLUMNS };
      expect(await refused(map, feed)).toEqual([
        "feed.csv:2: a row of more than 1000000 characters",
      ]);
    }
  });
});

describe("a map", () => {
  const MEMBERS =
    "delimiter, encoding, header, skip, rows, decimal, thousands, currency, marks, dates, day, columns, constants, ids, wide";
  const DATES =
    "a year, a month and at most a day, such as DD.MM.YYYY, MMM D, YY or YYYY[M]MM, or a list of such forms";
  const NO_DAY = 'a form with a day, or "day": "first" or "last" beside it';
  const PLACE =
    'a column\'s name (a path in JSON), "" for the one without a name, or its place from 1';
  const MARK =
    'text of at most 20 characters without digits, signs of numbers or currencies, separators and quotation marks; a list of them, or an object {mark: basis or ""}';
  const SKIP =
    "a number of lines at the beginning, or a list of numbers of lines and of texts with which records below the header begin";
  const CURRENCY = 'text of at most 20 characters without digits and signs of numbers, such as "$"';
  const CHARACTER =
    'one character, such as ";" or "\\t", no letter, digit, quotation mark or line break';
  const TEXT = "text that is not empty";
  const another = (what: string): string => `expected another character than ${what}`;

  test.each([
    ["[]", `wrong.json []: expected an object with ${MEMBERS}, or some of them`],
    ["null", `wrong.json null: expected an object with ${MEMBERS}, or some of them`],
    ['{"a":1}', `wrong.json a 1: expected one of ${MEMBERS}`],
    ['{"__proto__":1}', `wrong.json __proto__ 1: expected one of ${MEMBERS}`],
    ['{"toString":"x"}', `wrong.json toString "x": expected one of ${MEMBERS}`],
    ['{"delimiter":";;"}', `wrong.json delimiter ";;": expected ${CHARACTER}`],
    ['{"delimiter":"x","decimal":","}', `wrong.json delimiter "x": expected ${CHARACTER}`],
    ['{"delimiter":"\\n"}', `wrong.json delimiter "\\n": expected ${CHARACTER}`],
    ['{"delimiter":null}', `wrong.json delimiter null: expected ${CHARACTER}`],
    [
      '{"encoding":"latin9000"}',
      'wrong.json encoding "latin9000": expected an encoding that TextDecoder knows, such as utf-8, utf-16le, windows-1252, euc-kr or shift_jis',
    ],
    ['{"decimal":"·"}', 'wrong.json decimal "·": expected "." or ","'],
    [
      '{"thousands":"-"}',
      'wrong.json thousands "-": expected one character, such as ".", ",", " " or "\'", no letter, digit or sign',
    ],
    [
      '{"delimiter":";","decimal":",","thousands":","}',
      `wrong.json thousands ",": ${another('decimal, which is ","')}`,
    ],
    ['{"thousands":"."}', `wrong.json thousands ".": ${another('decimal, which is "."')}`],
    ...["DD.MM", "DD YYYY", "YYYYY-MM-DD", "DD.MM.YYYY DD", "TT.MM.JJJJ", "DD.MMMMM.YYYY", ""].map(
      (form) => [JSON.stringify({ dates: form }), `wrong.json dates "${form}": expected ${DATES}`],
    ),
    ['{"dates":"YYYY-MM"}', `wrong.json dates "YYYY-MM": expected ${NO_DAY}`],
    [
      '{"dates":["YYYY-MM-DD","MMM-YY"]}',
      `wrong.json dates ["YYYY-MM-DD","MMM-YY"]: expected ${NO_DAY}`,
    ],
    ['{"day":"middle","dates":"YYYY-MM"}', 'wrong.json day "middle": expected "first" or "last"'],
    ['{"currency":""}', `wrong.json currency "": expected ${CURRENCY}`],
    ['{"currency":"$1"}', `wrong.json currency "$1": expected ${CURRENCY}`],
    ['{"currency":"-"}', `wrong.json currency "-": expected ${CURRENCY}`],
    ['{"currency":["$","€"]}', `wrong.json currency ["$","€"]: expected ${CURRENCY}`],
    ...["1", "-", "p.", "€", "$", "EUR", "a b", "%", "", "x".repeat(21)].map((mark) => [
      JSON.stringify({ marks: mark }),
      `wrong.json marks "${mark}": expected ${MARK}`,
    ]),
    ['{"marks":[]}', `wrong.json marks []: expected ${MARK}`],
    ['{"marks":{"e":"guess"}}', `wrong.json marks {"e":"guess"}: expected ${MARK}`],
    ['{"marks":{"e":"withdrawn"}}', `wrong.json marks {"e":"withdrawn"}: expected ${MARK}`],
    ['{"skip":-1}', `wrong.json skip -1: expected ${SKIP}`],
    ['{"skip":[0]}', `wrong.json skip [0]: expected ${SKIP}`],
    ['{"skip":[""]}', `wrong.json skip [""]: expected ${SKIP}`],
    [
      '{"header":"no"}',
      'wrong.json header "no": expected true, or false if no line names the columns',
    ],
    [
      '{"rows":""}',
      'wrong.json rows "": expected the path of the array of rows in JSON, such as data.prices',
    ],
    ['{"Columns":{}}', "wrong.json Columns {}: expected columns"],
    [
      '{"header":false,"columns":{"id":"Code","spot_usd":2}}',
      'wrong.json columns.id "Code": expected the column\'s place from 1, as the file has no header',
    ],
    [
      '{"header":false,"wide":{"date":1}}',
      "wrong.json wide.date 1: expected a file with a header, which names the contracts",
    ],
    ['{"dates":[]}', `wrong.json dates []: expected ${DATES}`],
    ['{"dates":["DD.MM.YYYY",5]}', `wrong.json dates ["DD.MM.YYYY",5]: expected ${DATES}`],
    ['{"columns":["id"]}', 'wrong.json columns ["id"]: expected an object {ours: theirs}'],
    ['{"columns":{"id":0}}', `wrong.json columns.id 0: expected ${PLACE}`],
    ['{"columns":{"id":1.5}}', `wrong.json columns.id 1.5: expected ${PLACE}`],
    ['{"columns":{"id":true}}', `wrong.json columns.id true: expected ${PLACE}`],
    [
      '{"columns":{"id":2,"spot_usd":2}}',
      "wrong.json columns.spot_usd 2: expected another column than columns.id",
    ],
    [
      '{"columns":{"price":"Preis"}}',
      'wrong.json columns.price "Preis": expected a column of quotes or closes: id, spot_usd, session_utc, basis, as_of, source, source_url, break, low_usd, high_usd, inputs, rationale, date, close_usd',
    ],
    [
      '{"columns":{"spot_usd":"Preis","low_usd":"Preis"}}',
      'wrong.json columns.low_usd "Preis": expected another column than columns.spot_usd',
    ],
    [
      '{"columns":{"basis":"B"},"constants":{"basis":"assessed"}}',
      'wrong.json constants.basis "assessed": expected a column that columns does not name',
    ],
    ['{"constants":{"basis":null}}', `wrong.json constants.basis null: expected ${TEXT}`],
    [
      '{"ids":{"A-1":"A 1"}}',
      'wrong.json ids.A-1 "A 1": expected a lowercase slug such as ddr5-16gb-spot, at most 100 characters',
    ],
    ['{"wide":{"id":"x"}}', 'wrong.json wide.id "x": expected session_utc or date'],
    [
      '{"wide":"Datum"}',
      'wrong.json wide "Datum": expected an object {ours: theirs} with session_utc or date',
    ],
    ['{"ids":{"x":"a","x":"b"}}', 'wrong.json: the member "ids.x" appears twice'],
    [
      "{",
      "wrong.json: not JSON: Expected property name or '}' in JSON at position 1 (line 1 column 2)",
    ],
    [" ".repeat(1_000_001), "wrong.json: more than 1000000 characters, expected a map"],
  ])("is refused: %#", async (map, told) => {
    expect(await refused(map, "no table")).toEqual([told]);
  });

  test.each([
    ["DEEP", "wrong.json"],
    ['{"dates":DEEP}', "wrong.json dates"],
    ['{"ids":{"x":DEEP}}', "wrong.json ids.x"],
  ])("that nests too deep is refused: %s", async (map, place) => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const [told] = await refused(map.replace("DEEP", deep), "no table");
    expect(told).toContain(`${place} (nests too deep): expected `);
  });

  test("can name one column of theirs for quotes and for closes", async () => {
    const map = { columns: { spot_usd: "usd", close_usd: "usd" } };
    put("map.json", map);
    put("feed.csv", lines("id,usd", "a,12"));
    put("old.csv", lines("id,date,usd", "a,2026-11-19,11"));
    const line =
      "publish --catalog c.csv --quotes feed.csv --closes old.csv --map map.json --allow-sparse";
    expect((await runIn(folder, `${line} --store both`, NOON)).code).toBe(0);
    expect(levelsIn("both")).toEqual(["a 12 2026-11-21 reported"]);
  });

  test("comes from the variable, and is not there or no text", async () => {
    put("feed.csv", lines("id,spot_usd", "a,12"));
    const line = "publish --catalog c.csv --quotes feed.csv --store none";
    const said = async (map: string): Promise<string> =>
      (await runIn(folder, line, { env: { CHIPBOARD_MAP: map } })).stderr;
    expect(await said("nowhere.json")).toContain("Cannot read nowhere.json: no such file");
    put("latin.json", Buffer.from('{"columns":{"id":"Stück"}}', "latin1"));
    expect(await said("latin.json")).toContain("latin.json:1: not UTF-8");
  });

  test("a name with other blanks, case or width is named as that, also if it is left out", async () => {
    const map = { columns: { id: "Item", spot_usd: "Avg" }, ids: { "DDR4 (2Gx8)3200": "a" } };
    const feed = lines(
      "Item,Avg",
      "ddr4 (2Gx8) 3200,12",
      "ＤＤＲ４ (2Gx8)3200,12",
      "Other,1",
      "B,2",
    );
    const write = 'expected a contract of the catalog; write "DDR4 (2Gx8)3200"';
    expect(await refused(map, feed)).toEqual([
      `feed.csv:2 Item "ddr4 (2Gx8) 3200": ${write}`,
      `feed.csv:3 Item "ＤＤＲ４ (2Gx8)3200": ${write}`,
      'feed.csv:4 Item "Other": expected a contract of the catalog; --ignore-unknown leaves such rows out',
      'feed.csv:5 Item "B": expected a contract of the catalog; write b',
    ]);
    const line =
      "publish --catalog c.csv --quotes feed.csv --map wrong.json --ignore-unknown --accept sparse";
    const { code, stdout } = await runIn(folder, `${line} --store near`, NOON);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(
        'unknown ddr4 (2Gx8) 3200: 1 row left out; almost "DDR4 (2Gx8)3200"\nJudgement  unknown ＤＤＲ４',
      ),
    ]);
    expect(stdout).toContain(
      'unknown B: 1 row left out; almost "b"\nJudgement  unknown Other: 1 row left out\n',
    );
  });

  test("--hold and --ignore-unknown mean the ids that the map gives", async () => {
    put("map.json", GERMAN_MAP);
    put("feed.csv", `${GERMAN}A-1;x;x;;;\r\nB-1;x;12;;;\r\nC-1;x;12;;;\r\n`);
    const line =
      "publish --catalog c.csv --quotes feed.csv --map map.json --hold a --ignore-unknown";
    expect((await runIn(folder, `${line} --allow-sparse --store held`, NOON)).code).toBe(0);
    expect(levelsIn("held")).toEqual(["b 12 2026-11-21 assessed"]);
    const { judgements } = jsonIn(folder, "held/sessions/2026-11-21T12Z/r1/manifest.json");
    expect(judgements).toMatchObject([
      { gate: "sparse" },
      { gate: "held", contract: "a", measured: 1 },
      { gate: "unknown", contract: "C-1", measured: 1 },
    ]);
  });
});
