/**
 * What a request may cost before it is counted (contract: a budget before work). A request with pieces that
 * matter to a parser costs no more than a few times as much as with plain letters, whatever field, address
 * and piece. Compared is processor time of the proxy's process, never wall time, and the least of several
 * samples, so that a slow or busy machine changes both sides alike.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API } from "../../src/public/routes.ts";
import { nodePlatform } from "../../src/hosts/platform.ts";
import { tagOf } from "../../src/core/serve/entity.ts";
import type { CostService } from "./cost-service.ts";

/** Field and query together; with the other fields just below the proxy's limit of 16 kB. */
const BYTES = 15_000;
/** How many times as much as letters a text may cost. */
const RATIO_MAX = 10;
const SAMPLES = 5;

let child: ChildProcess;
let service: CostService;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  child = fork(join(import.meta.dirname, "cost-service.ts"));
  [service] = (await once(child, "message")) as [CostService];
});

afterAll(() => {
  agent.destroy();
  child.disconnect();
});

interface Asked {
  /** Below the proxy's address; whole of another one. */
  readonly path: string;
  /** Of POST. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function ask({ path, headers = {}, body }: Asked): Promise<number> {
  const method = body === undefined ? "GET" : "POST";
  return new Promise((resolve, reject) => {
    // Not through a URL, which would mend the path.
    const url = path.startsWith("http") ? path : service.url + path;
    request(url, { agent, method, headers }, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode as number));
    })
      .once("error", reject)
      .end(body);
  });
}

async function usedMs(question = "processor time?"): Promise<number> {
  child.send(question);
  const [ms] = (await once(child, "message")) as [number];
  return ms;
}

/** The processor time of the request in milliseconds, and its status. */
async function costOf(asked: Asked): Promise<{ ms: number; status: number }> {
  let ms = Infinity;
  let status = 0;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const before = await usedMs();
    status = await ask(asked);
    ms = Math.min(ms, (await usedMs()) - before);
  }
  return { ms, status };
}

/** Pieces of one and two characters that mean something to some parser of a field or a query. */
const PIECES = [
  " ",
  ",",
  ";",
  "=",
  '"',
  "*",
  "/",
  "-",
  ".",
  ":",
  "0",
  "_",
  "(",
  "\\",
  ", ",
  " ,",
  "; ",
  "a,",
  "a;",
  ";q",
  "=0",
  '",',
  '""',
  "*,",
  "0-",
  "-0",
  "0.",
  ":0",
  "c_",
  "W/",
] as const;

/** Each field that the proxy reads, with how its text may begin and end to lead a parser far into it. */
const FIELDS: Readonly<Record<string, readonly (readonly [start: string, end: string])[]>> = {
  accept: [
    ["", ""],
    ["a", "x;"],
    ["text/html;q=0", "x"],
  ],
  "accept-encoding": [
    ["", ""],
    ["a", "x;"],
    ["gzip;q=0.", "x"],
  ],
  authorization: [
    ["", ""],
    ["Bearer ", "x"],
    ["Basic ", "x"],
    ["Other cbk", "x"],
    ["", " cbk_"],
    ["Other ", ",a=cbk_"],
  ],
  "x-api-key": [
    ["", ""],
    ["cbk_", "x"],
  ],
  cookie: [
    ["", ""],
    ["a=cbk", "x"],
    ["", ";a=cbk_"],
    ["a=", " cbk_"],
  ],
  "x-forwarded-for": [
    ["", ""],
    ["[", "x"],
    ["127.0.0.1", "x"],
  ],
  "if-match": [
    ["", ""],
    ['"', "x"],
    ['"a"', "x"],
  ],
  "if-none-match": [
    ["", ""],
    ['"', "x"],
    ['"a"', "x"],
  ],
  "if-modified-since": [
    ["", ""],
    ["Wed, 21 Oct 2015 07:28:00 GMT", "x"],
    ["Wednesday, 21-Oct-15 07:28:00 ", "GMT"],
    ["Wed Oct 21 07:28:00 ", "2015"],
    ["(", "x"],
  ],
  "if-unmodified-since": [
    ["", ""],
    ["Wed, 21 Oct 2015 07:28:00 GMT", "x"],
    ["Wednesday, 21-Oct-15 07:28:00 ", "GMT"],
    ["Wed Oct 21 07:28:00 ", "2015"],
    ["(", "x"],
  ],
  range: [
    ["", ""],
    ["bytes=", "x"],
    ["bytes=0", "x"],
  ],
  "if-range": [
    ["", ""],
    ['"', "x"],
  ],
  "x-other": [
    ["", ""],
    ["Bearer ", "x"],
    ["", " cbk_"],
  ],
};

/** A route of each kind. Their answers here are not counted. */
const UNCOUNTED = ["/robots.txt", "/", "/nothing-here", "/healthz", "/log/1", `${API}/history.csv`];

const filled = (start: string, piece: string, end: string): string =>
  start + piece.repeat(Math.floor((BYTES - start.length - end.length) / piece.length)) + end;

/**
 * Why the request costs too much beside a usual one; null: it does not. An excess is measured again before it
 * is believed: another program of the machine can cause it, and a hole in the program stays.
 */
async function excess(
  asked: Asked,
  usual: Asked,
  usualMs: number,
  ratioMax = RATIO_MAX,
): Promise<string | null> {
  for (let tries = 0, ofUsual = usualMs; ; tries += 1) {
    const { ms, status } = await costOf(asked);
    expect(status).toBeLessThan(500);
    if (ms <= ratioMax * ofUsual) return null;
    if (tries === TRIES) return `${ms.toFixed(1)} ms, usually ${ofUsual.toFixed(1)}`;
    ofUsual = (await costOf(usual)).ms;
  }
}

const TRIES = 4;

/** Asks with plain letters and with each piece, and returns those that cost more than they may. */
async function dear(
  askWith: (start: string, piece: string, end: string) => Asked,
  ends: readonly (readonly [string, string])[],
): Promise<string[]> {
  const found: string[] = [];
  for (const [start, end] of ends) {
    const letters = askWith(start, "y", end);
    const { ms } = await costOf(letters);
    for (const piece of PIECES) {
      const why = await excess(askWith(start, piece, end), letters, ms);
      if (why !== null) found.push(`${JSON.stringify(`${start}${piece}…${end}`)}: ${why}`);
    }
  }
  return found;
}

test.for(Object.entries(FIELDS))("the field %s", async ([field, ends]) => {
  const found: string[] = [];
  for (const path of UNCOUNTED) {
    const asked = (start: string, piece: string, end: string): Asked => ({
      path,
      headers: { [field]: filled(start, piece, end) },
    });
    found.push(...(await dear(asked, ends)).map((text) => `${path} ${text}`));
  }
  expect(found).toEqual([]);
});

/** Each parameter on a route that takes it, and one that no route takes. */
const QUERIES = [
  "/?a=",
  "/nothing-here?",
  "/healthz?",
  `${API}/prices?ids=`,
  `${API}/prices?`,
  `${API}/publications?after=`,
  `${API}/contracts?`,
];
/** The same with a key. */
const KEYED_QUERIES = [
  `${API}/prices?segment=`,
  `${API}/prices?publication=`,
  `${API}/prices?as_of=`,
  `${API}/prices?publication=1&ids=`,
  `${API}/indices.csv?ids=`,
  `${API}/prices?session=`,
  `${API}/prices/{id}?from=`,
  `${API}/history.csv?last=`,
  `${API}/corrections?after=`,
  `${API}/corrections?since=`,
  `${API}/index?ids=`,
  `${API}/index?ids=a&weights=`,
  `${API}/usage?`,
];
const QUERY_PIECES = [
  "&",
  "%",
  "+",
  "&&",
  "a&",
  "&a",
  "=&",
  "a=",
  "%2",
  "%2C",
  "%20",
  "%00",
] as const;
const inQuery = (text: string): string => text.replaceAll(/[ "\\]/g, encodeURIComponent);

test("queries", async () => {
  const found: string[] = [];
  const queries = [
    ...QUERIES.map((path) => ({ path, headers: {} })),
    ...KEYED_QUERIES.map((path) => ({
      path: path.replace("{id}", service.id),
      headers: { "x-api-key": service.pro },
    })),
  ];
  for (const { path, headers } of queries) {
    const letters = { path: path + "y".repeat(BYTES - path.length), headers };
    const { ms } = await costOf(letters);
    for (const piece of [...PIECES.map(inQuery), ...QUERY_PIECES]) {
      const text = piece.repeat(Math.floor((BYTES - path.length) / piece.length));
      const why = await excess({ path: path + text, headers }, letters, ms);
      if (why !== null) found.push(`${path}${piece}…: ${why}`);
    }
  }
  expect(found).toEqual([]);
});

test("paths", async () => {
  const found: string[] = [];
  for (const start of [
    "/",
    `${API}/prices/`,
    `${API}/indices/`,
    "/contracts/",
    "/log/",
    "/l/lnk_",
  ]) {
    const headers = { "x-api-key": service.pro, accept: "text/html" };
    const letters = { path: start + "y".repeat(BYTES - start.length), headers };
    const { ms } = await costOf(letters);
    for (const piece of [...PIECES.map(inQuery), ...QUERY_PIECES, "//", "../", "%2f"]) {
      const path = start + piece.repeat(Math.floor((BYTES - start.length) / piece.length));
      const why = await excess({ path, headers }, letters, ms);
      if (why !== null) found.push(`${start}${piece}…: ${why}`);
    }
  }
  expect(found).toEqual([]);
});

/** A request beside one like it that needs no work; and how many times as much it may cost. */
async function compared(asked: Asked, plain: Asked, ratioMax = RATIO_MAX): Promise<string[]> {
  const why = await excess(asked, plain, (await costOf(plain)).ms, ratioMax);
  return why === null ? [] : [`${asked.path.slice(0, 60)}: ${why}`];
}

test("unknown ids that are like all others", async () => {
  const { unknown, unknownSegments, pro } = service;
  const found: string[] = [];
  const far = (count: number): string =>
    Array.from({ length: count }, (_, at) => `${at}${"z".repeat(40)}`).join();
  const headers = { "x-api-key": pro };
  for (const [path, count, names] of [
    [`${API}/prices?ids=`, 3, unknown],
    [`${API}/prices?ids=`, 100, unknown],
    [`${API}/history.csv?ids=`, 100, unknown],
    [`${API}/history.csv?publication=1&ids=`, 100, unknown],
    [`${API}/index?ids=`, 100, unknown],
    [`${API}/prices/`, 1, unknown],
    ["/contracts/", 1, unknown],
    [`${API}/prices?segment=`, 3, unknownSegments],
    [`${API}/prices?segment=`, 20, unknownSegments],
    [`${API}/indices.csv?ids=`, 100, unknownSegments],
    [`${API}/indices/`, 1, unknownSegments],
  ] as const) {
    const near = names.slice(0, count).join();
    const asked = { path: path + near, headers };
    found.push(...(await compared(asked, { path: path + far(count), headers })));
  }
  expect(found).toEqual([]);
});

test("former ids cost what present ones do, also where all are refused", async () => {
  const headers = { "x-api-key": service.pro };
  const present = service.unpriced.slice(0, 100);
  const former = present.map((id) => `older-${id}`);
  const found: string[] = [];
  for (const path of [
    `${API}/prices?ids=`,
    `${API}/index?ids=`,
    `${API}/prices?publication=1&ids=`,
  ]) {
    const asked = { path: path + former.join(), headers };
    expect(await ask(asked), path).toBe(400);
    found.push(...(await compared(asked, { path: path + present.join(), headers })));
  }
  expect(found).toEqual([]);
});

test("the list of all contracts is made once, and costs what a page does", async () => {
  const path = `${API}/contracts`;
  const coded = { "accept-encoding": "gzip" };
  const held = { "if-none-match": "*" };
  expect([await ask({ path }), await ask({ path, headers: held })]).toEqual([200, 304]);
  expect([
    ...(await compared({ path, headers: coded }, { path: "/docs", headers: coded })),
    ...(await compared({ path, headers: held }, { path: `${API}/publications`, headers: held })),
  ]).toEqual([]);
});

test("a contract's page that nobody asked for before, and the pages that all others read", async () => {
  const { unpriced } = service;
  const docs = { path: "/docs" };
  const { ms: usualMs } = await costOf(docs);
  let ms = Infinity;
  for (const id of unpriced) {
    const start = await usedMs();
    await ask({ path: `/contracts/${id}` });
    ms = Math.min(ms, (await usedMs()) - start);
  }
  // Pages of contracts push each other out, and no others: the first answer afterwards tells.
  const start = await usedMs();
  await ask(docs);
  const after = (await usedMs()) - start;
  expect(after).toBeLessThan(2 * RATIO_MAX * Math.max(usualMs, 1));
  expect(ms).toBeLessThan(2 * RATIO_MAX * Math.max(usualMs, 1));
});

/** The tag of a file, or of a selection of it: nothing in it is secret, so that a caller can make it. */
const tagFor = (path: string, name = ""): string =>
  tagOf(nodePlatform, service.manifestSha256, path, name, "", "identity");

test("a 304 to a selection, a basket, an old or a plain file costs what that to a whole file does", async () => {
  const headers = { "x-api-key": service.pro };
  const held = (path: string, file: string, name = ""): Asked => ({
    path: API + path,
    headers: { ...headers, "if-none-match": tagFor(file, name) },
  });
  const whole = held("/levels.csv", "pro/levels.csv");
  const found: string[] = [];
  for (const asked of [
    held("/levels.csv?last=1999", "pro/levels.csv", JSON.stringify(["last", "1999"])),
    held("/history.csv?from=2000-01-01", "pro/history.csv", JSON.stringify(["from", "2000-01-01"])),
    held("/prices?segment=dram", "pro/board.json", JSON.stringify(["segment", "dram"])),
    held("/history.parquet?publication=1", "pro/history.parquet"),
    held("/history.csv?publication=1&last=5", "pro/history.csv", JSON.stringify(["last", "5"])),
    held("/export.xlsx?publication=1", "pro/export.xlsx"),
  ]) {
    expect(await ask(asked), asked.path).toBe(304);
    found.push(...(await compared(asked, whole)));
  }
  expect(found).toEqual([]);
});

test("a 429 costs the same whatever was asked for", async () => {
  const headers = { "x-api-key": service.spent };
  const whole = { path: `${API}/levels.csv`, headers };
  const found: string[] = [];
  for (const path of [
    "/levels.csv?last=1999",
    "/history.csv?segment=dram",
    "/prices?segment=dram",
  ]) {
    const asked = { path: API + path, headers };
    expect(await ask(asked), path).toBe(429);
    found.push(...(await compared(asked, whole)));
  }
  expect(found).toEqual([]);
});

test("a plain history costs at most a few times a coded one", async () => {
  const path = `${API}/history.csv`;
  const headers = { "x-api-key": service.pro };
  const coded = { path, headers: { ...headers, "accept-encoding": "gzip" } };
  expect(await compared({ path, headers }, coded, 2 * RATIO_MAX)).toEqual([]);
});

/** What a request that is not counted may cost: the loop of the service, in the same run. */
async function budgetMs(): Promise<number> {
  let ms = Infinity;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const before = await usedMs();
    ms = Math.min(ms, (await usedMs("loop")) - before);
  }
  return ms;
}

test("what costs the caller nothing stays within the budget, at every mouth", async () => {
  const spent = { "x-api-key": service.spent };
  const other = { "x-api-key": service.pro, "if-match": '"other"' };
  const question = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });
  const batchOf = (messages: number): string => `[${Array(messages).fill(list).join()}]`;
  const weights = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"price_basket","arguments":{"ids":["a"],"weights":[${"0,".repeat(49_000)}0]}}}`;
  const told = (body: string): Asked => ({ path: service.tools, headers: question, body });
  const free: Record<string, Asked> = {
    "429 of an old publication": { path: `${API}/prices?publication=1`, headers: spent },
    "412 of an old publication": { path: `${API}/prices?publication=1`, headers: other },
    "412 of an old selection": {
      path: `${API}/levels.csv?publication=1&ids=${service.unknown.join()}`,
      headers: other,
    },
    "the list of the tools": told(list),
    "a batch that is too long": told(batchOf(100)),
    "a list that is too long": told(weights),
    "a text that is no JSON": told("x".repeat(100_000)),
  };
  const budget = await budgetMs();
  const dear: string[] = [];
  for (const [name, asked] of Object.entries(free)) {
    const { ms, status } = await costOf(asked);
    if (ms > budget) dear.push(`${name} (${status}): ${ms.toFixed(1)} ms of ${budget.toFixed(1)}`);
  }
  expect(dear).toEqual([]);
  // A batch counts its messages.
  const { ms } = await costOf(told(batchOf(10)));
  expect(ms).toBeLessThan(10 * budget);
});
