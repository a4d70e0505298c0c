/**
 * The parameters of selections with hostile values, on every address that takes them and on others, for every
 * caller, live and old: lines of the caller's own file, or a refusal that names the expected form.
 */
import { LISTS } from "../../src/public/parameters.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Received } from "./client.ts";
import { DROPPED, DROPPED_AS_OF, KEYED_IDS, NEVER, startTestProxy } from "./fixture.ts";

const API = "/api/public/v1";
const CALLERS = ["none", "starter", "pro", "pro, old"] as const;
type Caller = (typeof CALLERS)[number];

let proxy: Awaited<ReturnType<typeof startTestProxy>>;
/** 200s of each caller: each costs a call, and nothing else does. */
const answered = { none: 0, starter: 0, pro: 0 };
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(async () => {
  for (const [caller, count] of Object.entries(answered)) {
    const { json } = await proxy.get(`${API}/usage`, optionsOf(caller as Caller));
    expect([caller, json.used]).toEqual([caller, count]);
  }
  await proxy.close();
});

const optionsOf = (caller: Caller): { key?: string } =>
  caller === "none" ? {} : { key: caller === "starter" ? proxy.starter : proxy.pro };

async function ask(caller: Caller, path: string, query: string): Promise<Received> {
  const all = caller === "pro, old" ? `${query}&publication=1` : query;
  const received = await proxy.get(`${API}${path}?${all}`, optionsOf(caller));
  if (received.status === 200) answered[caller === "pro, old" ? "pro" : caller] += 1;
  return received;
}

const BOARDS = ["/prices", "/export.csv", "/sparklines"];
const LONG = ["/history.csv", "/levels.csv"];
const ENDED = "/superseded.csv";
const OF_INDICES = ["/indices.csv", "/members.csv"];
const PROS = ["/export.xlsx", "/history.parquet", "/members.csv", ENDED];
/** Ids of contracts and indices, and months. */
const SETTLED = "/settlements.csv";
const SERIES = ["/prices/dram-0", "/indices/dram"];
/** The addresses that take it. */
const TAKEN_BY = {
  ids: [...BOARDS, ...LONG, ENDED, ...OF_INDICES, SETTLED, "/corrections"],
  segment: [...BOARDS, ...LONG, ENDED, "/corrections"],
  from: [...SERIES, ...LONG, ENDED, ...OF_INDICES],
  to: [...SERIES, ...LONG, ENDED, ...OF_INDICES],
  last: [...SERIES, ...LONG, "/indices.csv"],
  after: ["/corrections"],
  since: ["/corrections"],
} as const satisfies Record<string, readonly string[]>;
type Name = keyof typeof TAKEN_BY;
const NAMES = Object.keys(TAKEN_BY) as Name[];
const isByMonth = (path: string, name: string): boolean =>
  path === SETTLED && /^(?:from|to)$/.test(name);
const namesOf = (path: string): Name[] =>
  NAMES.filter((name) => isByMonth(path, name) || TAKEN_BY[name].some((taking) => taking === path));
const ELSEWHERE = ["/indices", "/export.xlsx", "/history.parquet", "/sums", "/usage"];
const EVERYWHERE = [...new Set([...Object.values(TAKEN_BY).flat(), ...ELSEWHERE])];

/** The refusal of the address itself, before its parameters are read; null: the caller may ask. */
function refusalOf(caller: Caller, path: string, names: readonly string[]): string | null {
  const isPros = PROS.includes(path);
  if (caller === "starter") return isPros ? "tier_required" : null;
  if (caller !== "none") return null;
  const isOpen = ["/prices", "/prices/dram-0", "/sums", "/usage"].includes(path);
  const isOfHistory = path === "/prices/dram-0" && names.some((name) => /from|to|last/.test(name));
  return isOpen && !isOfHistory ? null : "key_required";
}

/** Lines without the comma after the last element, what a selection counts anew, and empty arrays. */
const linesOf = (text: string): string[] =>
  text
    .replace(/"counts":\{[^}]*\}/, "")
    .replaceAll("[]", "[\n]")
    .split("\n")
    .map((line) => line.replace(/,$/, ""));

const wholes = new Map<string, Promise<Set<string>>>();
/** Every line is one of the file that the caller gets whole. */
async function expectOwnLines(caller: Caller, path: string, { text }: Received): Promise<void> {
  const name = `${caller} ${path}`;
  const lines = wholes.get(name) ?? ask(caller, path, "").then((all) => new Set(linesOf(all.text)));
  wholes.set(name, lines);
  const whole = await lines;
  expect([name, linesOf(text).filter((line) => !whole.has(line))]).toEqual([name, []]);
}

const MEMBERS =
  "type|title|status|detail|code|errors|plans|required_tier|history_from|as_of|request_id".split(
    "|",
  );
function expectRefusal(received: Received, code: string, name: string, said: RegExp): void {
  const { status, json, text } = received;
  const statuses: Record<string, number> = { key_required: 401, tier_required: 403 };
  expect([status, json?.code]).toEqual([statuses[code] ?? 400, code]);
  expect(Object.keys(json).filter((member) => !MEMBERS.includes(member))).toEqual([]);
  expect(text.length).toBeLessThan(6_000);
  if (code in statuses) return;
  expect(json.errors.map(({ parameter }: { parameter: string }) => parameter)).toContain(name);
  for (const { detail } of json.errors) expect(detail).toMatch(said);
  expect(json.detail).toContain(JSON.stringify(json.errors[0].parameter));
}

/** Values as sent that every parameter refuses. */
const JUNK =
  "%20|%09|%00|%0d%0a|%|%zz|%ff|%ff%fe|null|undefined|NaN|Infinity|-Infinity|true|__proto__|constructor" +
  "|hasOwnProperty|toString|.|..%2fpro|%27|%22|%2a|{}|[]|0x10|1_0|-1|-0|%2B1|+1|1.5|1e3|%D9%A3|%EF%BC%91|%C2%B2" +
  "|1%20|1%00|1%0a|1;2|9007199254740993|1e309|☃";
const junk = [...JUNK.split("|"), "9".repeat(400), "x".repeat(5_000)].map((value) =>
  encodeURI(value).replaceAll("%25", "%"),
);
const listed = (text: string): string[] => [...junk, ...text.split("|")];

const numbered = (count: number): string =>
  Array.from({ length: count }, (_, at) => `c${at}`).join();
const OF_LIST = /^expected (no empty item|each id once|1 to (100|20) ids, got \d+)/;
const NO_LIST = [
  ..."|,|dram,|,dram|dram,,x|dram,dram|dram,%64ram".split("|"),
  ",".repeat(9_999),
  numbered(101),
];
const NO_DATE =
  "|0|2026|2026-11|2026-1-2|20261120|2026-11-20%20|%202026-11-20|+2026-11-20|2026-11-20%00|2026-11-20%0d%0a" +
  "|%0a2026-11-20|2026-02-30|2025-02-29|2026-13-01|2026-00-10|2026-11-00|2026-11-31|0000-00-00|0000-01-01|1899-12-31" +
  "|%2B002026-01-01|-002026-01-01|12026-11-20|2026-11-20T00:00:00Z|2026-11-20T00Z|2026%2F11%2F20|20.11.2026" +
  "|2026%E2%80%9311%E2%80%9320|%D9%A2%D9%A0%D9%A2%D9%A6-11-20|2026-11-20,2026-11-21|today|now";
const NO_MONTH =
  "|0|2026|202611|2026-1|2026-00|2026-13|2026-11-01|2026-11%20|%202026-11|+2026-11|2026-11%00|2026-11%0a|1899-12" +
  "|0000-01|10000-01|2026%2F11|11.2026|2026%E2%80%9311|%D9%A2%D9%A0%D9%A2%D9%A6-11|2026-11,2026-12|november|now";
const NO_NUMBER = "|00|01|007|%20|1,2|1.0|1e1|0b1|0o7|all";

describe("malformed", () => {
  const CASES: readonly (readonly [Name, readonly string[], RegExp])[] = [
    ["ids", NO_LIST, OF_LIST],
    ["segment", [...NO_LIST, numbered(21)], OF_LIST],
    ["from", listed(NO_DATE), /^expected a date such as 2026-11-21, from 1900-01-01 on$/],
    ["to", listed(NO_DATE), /^expected a date such as 2026-11-21, from 1900-01-01 on$/],
    [
      "last",
      listed(`${NO_NUMBER}|0|2001|9999|10000|1000000000`),
      /^expected a whole number from 1 to 2000$/,
    ],
    ["after", listed(`${NO_NUMBER}|10000000000`), /^expected a whole number from 0 to 9999999999$/],
    ["since", listed(NO_DATE), /^expected a date such as 2026-11-21, from 1900-01-01 on$/],
  ];
  for (const [name, values, said] of CASES) {
    test.each(CALLERS)(`${name}, asked by %s`, async (caller) => {
      for (const path of TAKEN_BY[name]) {
        for (const value of values) {
          const received = await ask(caller, path, `${name}=${value}`);
          const code = refusalOf(caller, path, [name]) ?? "invalid_parameter";
          expectRefusal(received, code, name, said);
        }
      }
    });
  }
});

test.each(CALLERS)("malformed months, asked by %s", async (caller) => {
  for (const name of ["from", "to"]) {
    for (const value of listed(NO_MONTH)) {
      const received = await ask(caller, SETTLED, `${name}=${value}`);
      const code = refusalOf(caller, SETTLED, [name]) ?? "invalid_parameter";
      expectRefusal(received, code, name, /^expected a month such as 2026-10$/);
    }
  }
  const turned = await ask(caller, SETTLED, "from=2026-11&to=2026-10");
  const code = refusalOf(caller, SETTLED, ["from"]) ?? "invalid_parameter";
  expectRefusal(turned, code, "from", /^expected a month not after to, 2026-10$/);
});

describe("well formed, and of nothing", () => {
  const OTHERS =
    "DRAM-0|Dram-0|dram-0%20|%20dram-0|dram-0%00|dram-0%0d%0a|dram-0;dram-1|dram%EF%BC%8D0|T0|composite%2f..";
  for (const [name, more] of [
    ["ids", "dram-00"],
    ["segment", "composite|dram,composite|dram-0"],
  ] as const) {
    test.each(CALLERS)(`${name}, asked by %s`, async (caller) => {
      for (const path of TAKEN_BY[name]) {
        // A segment's name also means the segment.
        const names = name === "segment" ? "DRAM%20|DRAM_|_DRAM" : "DRAM";
        for (const value of listed(`${OTHERS}|${more}|${names}|nothing,dram`)) {
          const received = await ask(caller, path, `${name}=${value}`);
          const isOfIndices = name === "segment" || OF_INDICES.includes(path);
          const code = isOfIndices ? "unknown_index" : "unknown_contract";
          const expected = refusalOf(caller, path, [name]) ?? code;
          expectRefusal(received, expected, name, /^expected the id of /);
        }
      }
    });
  }
});

test("every address refuses parameters that it does not take, and repeated ones but lists", async () => {
  const day = "2026-11-20";
  const GOOD: Partial<Record<string, string>> = { from: day, to: day, since: day };
  const STRANGE = "Ids|ids%00|%20ids|id|__proto__|constructor|From|until|fields|format";
  for (const caller of CALLERS) {
    for (const path of EVERYWHERE) {
      if (caller === "pro, old" && path === "/usage") continue;
      for (const name of [...NAMES, ...STRANGE.split("|")]) {
        const isTaken = namesOf(path).some((taken) => taken === name);
        if (isTaken && LISTS.some((list) => list === name)) continue;
        const good = isByMonth(path, name) ? "2026-10" : (GOOD[name] ?? "1");
        const value = Object.hasOwn(GOOD, name) ? good : "1";
        const query = isTaken ? `${name}=${value}&${name}=${value}` : `${name}=${value}`;
        const received = await ask(caller, path, query);
        const code = isTaken ? "invalid_parameter" : "unknown_parameter";
        const refused = refusalOf(caller, path, isTaken ? [name] : []);
        const said = isTaken ? /^expected once$/ : /^expected /;
        expectRefusal(received, refused ?? code, decodeURIComponent(name), said);
      }
    }
  }
});

describe("together", () => {
  const both = /^expected ids or segment, not both$/;
  const order = /^expected a date not after to, 2026-11-19$/;
  type Case = readonly [query: string, name: Name, said: RegExp, paths: readonly string[]];
  const CASES: readonly Case[] = [
    ["ids=dram-0&segment=dram", "segment", both, TAKEN_BY.segment],
    ["segment=nothing&ids=nothing", "segment", both, TAKEN_BY.segment],
    ["from=2026-11-20&to=2026-11-19", "from", order, TAKEN_BY.from],
    ["last=1&to=2026-11-19&from=9999-12-31", "from", order, TAKEN_BY.last],
    ["from=x&to=y&last=z", "from", /^expected a /, TAKEN_BY.last],
    ["ids=nothing&from=x", "from", /^expected a date/, LONG],
    ["since=2026-11-20&after=1", "since", /^expected after or since, not both$/, TAKEN_BY.since],
    ["after=x&since=y", "since", /^expected a/, TAKEN_BY.since],
  ];
  test.each(CASES)("%s", async (query, name, said, paths) => {
    for (const caller of CALLERS) {
      for (const path of paths) {
        const names = [...new URLSearchParams(query).keys()];
        const code = refusalOf(caller, path, names) ?? "invalid_parameter";
        expectRefusal(await ask(caller, path, query), code, name, said);
      }
    }
  });
});

test("a well-formed request gets lines of the caller's own file, or the tier that may have them", async () => {
  const ofContracts = TAKEN_BY.ids.filter((path) => !OF_INDICES.includes(path));
  const NEVER_DATES = "from=9999-12-31|to=1900-01-01|to=9999-12-31&from=9999-12-31|to=2021-11-21";
  const WITHIN_PRO = "to=2024-02-29|to=2021-11-22|to=2026-08-22&from=1900-01-01";
  const MONTH_OF_PRO = "to=2026-07";
  const CASES: readonly (readonly [queries: string, paths: readonly string[]])[] = [
    ["ids=dram-0|ids=dram%2D0%2Cdram-1", ofContracts],
    ["ids=dram,composite", OF_INDICES],
    ["segment=dram|segment=DRAM|segment=dRaM", TAKEN_BY.segment],
    [
      `${NEVER_DATES}|${WITHIN_PRO}|from=1900-01-01|to=2026%2d11%2d20&from=2026-11-20`,
      TAKEN_BY.from,
    ],
    [
      `ids=dram-0,composite|from=2026-10&to=2026-10|from=9999-12|to=1900-01|${MONTH_OF_PRO}`,
      [SETTLED],
    ],
    ["last=1|last=%32000", TAKEN_BY.last],
    ["ids=dram-0&last=2&to=2026-11-19|segment=dram&last=1", LONG],
    ["after=0|after=9999999999|ids=dram-0&after=1", TAKEN_BY.after],
    ["since=1900-01-01|since=9999-12-31|segment=dram&since=2026-11-21", TAKEN_BY.since],
  ];
  const asked = CASES.flatMap(([queries, paths]) =>
    queries.split("|").flatMap((query) => paths.map((path) => ({ query, path }))),
  );
  for (const caller of CALLERS) {
    for (const { query, path } of asked) {
      const received = await ask(caller, path, query);
      const isTooEarly =
        caller === "starter" && `${WITHIN_PRO}|${MONTH_OF_PRO}`.split("|").includes(query);
      const refused =
        refusalOf(caller, path, [...new URLSearchParams(query).keys()]) ??
        (isTooEarly ? "tier_required" : null);
      if (isTooEarly && !PROS.includes(path)) expect(received.json.history_from).toBe("2026-08-23");
      expect([path, query, received.json?.code]).toEqual([path, query, refused ?? undefined]);
      if (refused === null) await expectOwnLines(caller, path, received);
    }
  }
});

describe("ids of other tiers, and off the boards", () => {
  test("without a key an id outside the free slice says that it needs one, and nothing more", async () => {
    for (const id of [...KEYED_IDS, NEVER, DROPPED]) {
      const { status, json, headers } = await ask("none", "/prices", `ids=dram-0,${id}`);
      expect([status, json.code, json.as_of]).toEqual([401, "key_required", undefined]);
      expect(json.detail).toContain(id);
      expect(headers["x-session-utc"]).toBeUndefined();
    }
    // Unknown ids come first, whatever the others are.
    const { json } = await ask("none", "/prices", `ids=nothing,${NEVER}`);
    expect(json.code).toBe("unknown_contract");
  });

  test.each(["starter", "pro", "pro, old"] as const)("asked by %s", async (caller) => {
    for (const [id, asOf] of [
      [NEVER, null],
      [DROPPED, DROPPED_AS_OF],
    ] as const) {
      for (const path of BOARDS) {
        const { status, json } = await ask(caller, path, `ids=dram-0,${id}`);
        expect([status, json.code, json.as_of]).toEqual([400, "not_on_board", asOf]);
        expect(json.errors).toMatchObject([{ parameter: "ids", value: id, as_of: asOf }]);
      }
      for (const path of [...LONG, "/corrections"]) {
        const received = await ask(caller, path, `ids=${id}`);
        expect(received.status).toBe(200);
        await expectOwnLines(caller, path, received);
      }
    }
  });
});

describe("session", () => {
  const said = /^expected a session, 00 or 12 hours UTC of a day, such as 2026-11-21T12Z$/;
  const NO_SESSION =
    "|0|1|2026|2026-11|2026-11-21|2026-11-21T|2026-11-21T00|2026-11-21T0Z|2026-11-21T24Z|2026-11-21T06Z|2026-11-21T00z" +
    "|2026-11-21t00Z|2026-11-21T00:00Z|2026-11-21T00:00:00Z|2026-11-21T00:00:00.001Z|2026-11-21T00:00:00.000" +
    "|2026-11-21T00Z%00|2026-11-21T00Z%0a|%0a2026-11-21T00Z|%202026-11-21T00Z|2026-11-21T00Z%20|2026-11-21T00ZZ" +
    "|2026-11-21T00Z/r1|2026-11-21T00Z,2026-11-21T12Z|2026-02-30T00Z|2025-02-29T12Z|0000-01-01T00Z|1899-12-31T12Z" +
    "|12026-11-21T00Z|%2B002026-11-21T00Z|2026-11-21T00%2B00:00|%D9%A2%D9%A0%D9%A2%D9%A6-11-21T00Z|head|today|now";
  /** With `as_of` and `session` the addresses that take ids refuse ids that only that snapshot has. */
  const PATHS = EVERYWHERE.filter((path) => path !== "/sums" && path !== "/usage");

  test.each(["none", "starter", "pro"] as const)("malformed, asked by %s", async (caller) => {
    for (const value of listed(NO_SESSION)) {
      for (const path of value === "2026-11-21" ? PATHS : ["/prices", "/history.csv"]) {
        const received = await ask(caller, path, `session=${value}`);
        const refused = caller === "none" ? "key_required" : refusalOf(caller, path, ["session"]);
        expectRefusal(received, refused ?? "invalid_parameter", "session", said);
      }
    }
  });

  test("one that nobody published, and the one that is served", async () => {
    for (const path of PATHS) {
      for (const [caller, own] of [
        ["starter", "2026-11-20T12Z"],
        ["pro", "2026-11-21T00Z"],
      ] as const) {
        const isRefused = refusalOf(caller, path, []) !== null;
        for (const value of ["1900-01-01T00Z", "2026-11-21T12Z", "9999-12-31T12Z"]) {
          const { status, json } = await ask(caller, path, `session=${value}`);
          const expected = isRefused ? [403, "tier_required"] : [404, "not_published"];
          expect([path, value, status, json.code]).toEqual([path, value, ...expected]);
        }
        const received = await ask(caller, path, `session=${own}`);
        expect([path, received.status]).toEqual([path, isRefused ? 403 : 200]);
        if (!isRefused && !/xlsx|parquet/.test(path)) await expectOwnLines(caller, path, received);
      }
    }
  });

  test("with publication or as_of, twice, and where none is taken", async () => {
    const own = "session=2026-11-21T00Z";
    for (const [other, name, detail] of [
      ["publication=1", "session", /^expected publication or session, not both$/],
      ["as_of=2026-11-21T00:05:00Z", "session", /^expected as_of or session, not both$/],
      ["as_of=x", "session", /^expected /],
      ["publication=x", "publication", /^expected /],
      [own, "session", /^expected once$/],
    ] as const) {
      const received = await ask("pro", "/prices", `${own}&${other}`);
      expectRefusal(received, "invalid_parameter", name, detail);
    }
    for (const path of ["/sums", "/usage"]) {
      const received = await ask("pro", path, own);
      expectRefusal(received, "unknown_parameter", "session", /^expected /);
    }
  });
});

describe("as_of a date", () => {
  const NO_INSTANT =
    "|2026-02-30|0000-00-00|%2B002026-01-01|2026-11-20%00|2026-11-20%0a|2026-1-2|20261120|2026-11" +
    "|2026-11-20Z|2026-11-20%2B00:00|%D9%A2%D9%A0%D9%A2%D9%A6-11-20|2026-11-20,2026-11-21|yesterday|__proto__|1e3|-1";
  test.each(NO_INSTANT.split("|"))("%s is none", async (value) => {
    for (const caller of ["starter", "pro"] as const) {
      const received = await ask(caller, "/prices", `as_of=${value}&ids=dram-0`);
      expectRefusal(received, "invalid_parameter", "as_of", /^expected a date, or an instant/);
    }
    expectRefusal(await ask("none", "/prices", `as_of=${value}`), "key_required", "as_of", /./);
  });

  test("today, a later day, and one before the first", async () => {
    const today = await ask("pro", "/history.csv", "as_of=2026-11-21&ids=dram-0&last=1");
    expect([today.status, today.headers["x-publication"]]).toEqual([200, "1"]);
    expect(today.headers["cache-control"]).toMatch(/^private, max-age=\d\d?$/);
    for (const value of ["2026-11-22", "9999-12-31"]) {
      const received = await ask("pro", "/history.csv", `as_of=${value}&ids=dram-0&last=1`);
      expectRefusal(received, "invalid_parameter", "as_of", /^expected .* not in the future/);
    }
    for (const value of ["2026-11-20", "1900-01-01", "1899-12-31", "0000-01-01"]) {
      const { status, json } = await ask("pro", "/history.csv", `as_of=${value}&ids=nothing`);
      expect([value, status, json.code]).toEqual([value, 404, "not_published"]);
    }
  });
});
