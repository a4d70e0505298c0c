/** The Worker in workerd, beside the Node host over the same store and state. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { API, DATA_ROUTES } from "../../src/public/routes.ts";
import { dataPaths, pagePaths, uncountedPaths } from "../http/addresses.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import type { Received } from "../http/client.ts";
import {
  publishSession,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "../http/fixture.ts";
import { withDriver } from "../../src/state/open.ts";
import { startTestEdge, type TestEdge } from "./edge-service.ts";

/** Of the connection, or of each answer; of pages the start of the process. */
const NOT_COMPARED = new Set([
  "connection",
  "date",
  "keep-alive",
  "transfer-encoding",
  "x-ratelimit-remaining",
]);

let edge: TestEdge;
let node: TestProxy;
beforeAll(async () => {
  const publicUrl = "https://prices.example";
  edge = await startTestEdge({ publicUrl });
  node = await startTestProxy({ publicUrl, clock: edge.clock });
});
afterAll(async () => {
  await node.close();
  await edge.close();
});

const KEYS = [undefined, "starter", "pro"] as const;
const SENT: readonly Readonly<Record<string, string>>[] = [
  {},
  { "accept-encoding": "gzip" },
  { "if-none-match": "*" },
  { range: "bytes=1-9" },
  { accept: "text/html" },
];

const PATHS = [
  ...new Set([
    ...dataPaths("pro"),
    ...uncountedPaths("everybody"),
    ...uncountedPaths("key"),
    ...pagePaths(),
    `${DATA_ROUTES.board.path}?publication=1`,
    `${DATA_ROUTES.board.path}?ids=nothing`,
    `${API}/index?ids=dram-0,dram-1&weights=60,40`,
    "/nothing",
  ]),
];

const fieldsOf = ({ headers }: Received): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !NOT_COMPARED.has(name)));

test("every address answers as the Node host does, for each tier", async () => {
  let compared = 0;
  for (const path of PATHS) {
    for (const tier of KEYS) {
      for (const sent of SENT) {
        const asked = async (mouth: TestProxy): Promise<Received> => {
          const key = tier && mouth[tier];
          return mouth.get(path, {
            headers: { ...sent, ...(key && { authorization: `Bearer ${key}` }) },
          });
        };
        const [there, here] = [await asked(edge), await asked(node)];
        const where = [path, tier, JSON.stringify(sent)];
        const fields = fieldsOf(there);
        const expected = fieldsOf(here);
        // The platform codes text again that has no coded form of its own, which then has another length.
        const isCodedAgain =
          fields["content-encoding"] === "gzip" && expected["content-encoding"] === undefined;
        if (isCodedAgain) {
          delete fields["content-encoding"];
          delete expected["content-length"];
        }
        expect([...where, there.status, fields]).toEqual([...where, here.status, expected]);
        const isSame = isCodedAgain ? there.body.equals(here.body) : there.raw.equals(here.raw);
        expect([...where, isSame]).toEqual([...where, true]);
        compared += 1;
      }
    }
  }
  expect(compared).toBe(PATHS.length * KEYS.length * SENT.length);
});

const LIMIT = 25_000;

/** Counts calls of an account that it did not make. */
async function useCalls({ registry, state, clock }: TestEdge, account: string, calls: number) {
  const { account_id: id } = await registry.account(account);
  const month = new Date(clock.ms).toISOString().slice(0, 7);
  const name = { subject: `account:${id}`, month } as const;
  const request = { ...name, known: 0, added: 0, wanted: calls, limit: null, follows: false };
  await withDriver(state, "use", (driver) =>
    driver.count(1, [{ ...request, keptMs: sessionsMs(100) }]),
  );
}

test.each(["cold", "warm"])("1,000 calls at once on 300 left: exactly 300, %s", async (isolate) => {
  const own = await startTestEdge();
  try {
    const ask = () => own.get(DATA_ROUTES.board.path, { key: own.starter });
    const before = isolate === "warm" ? 1 : 0;
    if (before > 0) await ask();
    await useCalls(own, "small", LIMIT - 300 - before);
    const answers = await Promise.all(Array.from({ length: 1_000 }, ask));
    const granted = answers.filter(({ status }) => status === 200);
    expect(granted).toHaveLength(300);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(700);
    const left = granted.map(({ headers }) => Number(headers["x-ratelimit-remaining"]));
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, at) => at));
    expect(await own.registry.usage("small")).toMatchObject([{ used: LIMIT, remaining: 0 }]);
  } finally {
    await own.close();
  }
});

test("a counted call writes one row, and is counted for its day and its key", async () => {
  const own = await startTestEdge();
  try {
    for (let call = 0; call < 3; call += 1) await own.get(DATA_ROUTES.board.path, { key: own.pro });
    const { account_id: id } = await own.registry.account("large");
    const key = own.pro.slice(0, 12);
    const subjects = [`account:${id}`, `day:21:${id}`, `key:${key}`, `key:${key}:day`] as const;
    const names = subjects.map((subject) => ({ subject, month: "2026-11" }));
    expect(await withDriver(own.state, "use", (driver) => driver.used(names))).toEqual([
      3, 3, 3, 21,
    ]);
    expect(await own.registry.calls("large", "key")).toMatchObject([{ key_id: key, used: 3 }]);
  } finally {
    await own.close();
  }
});

test("a revoked key, and one of a suspended account, are refused within a second, also by calls that hurry", async () => {
  const statusOf = async (key: string): Promise<number> =>
    (await edge.get(DATA_ROUTES.board.path, { key })).status;
  const key = (await edge.registry.createKey("large", null)).key;
  expect(await statusOf(key)).toBe(200);
  await edge.registry.revokeKey(key.slice(0, 12));
  const revokedAt = performance.now();
  const late: number[] = [];
  for (let status = 200; status !== 401;) {
    const askedAt = performance.now();
    status = await statusOf(key);
    if (status === 200 && askedAt - revokedAt > 1_000) late.push(askedAt - revokedAt);
  }
  expect(late).toEqual([]);
  expect(await statusOf(key)).toBe(401);
});

test("a publication while callers read: each answer is of one of both, and none fails", async () => {
  const own = await startTestEdge();
  try {
    const next = parseSession("2026-11-21T12Z") as Session;
    const clock = new TestClock(own.clock.ms + sessionsMs(1));
    let isRead = false;
    const reader = async (): Promise<string[]> => {
      const seen: string[] = [];
      while (!isRead) {
        const { status, headers, json } = await own.get(DATA_ROUTES.board.path, { key: own.pro });
        expect(status).toBe(200);
        expect(headers["x-session-utc"]).toBe(json.session_utc);
        seen.push(json.session_utc);
      }
      return seen;
    };
    const readers = Promise.all([reader(), reader(), reader(), reader()]);
    await publishSession(own.store, clock, next, { usd: 12 });
    own.clock.ms = clock.ms;
    await expect
      .poll(async () => (await own.get(DATA_ROUTES.board.path, { key: own.pro })).json.session_utc)
      .toBe("2026-11-21T12:00:00.000Z");
    isRead = true;
    for (const seen of await readers) expect(seen).toEqual(seen.toSorted());
  } finally {
    await own.close();
  }
});

test("the Worker that answers callers has no door, and tells nothing of objects", async () => {
  for (const path of ["/", "/registry", "/door"]) {
    const answer = await fetch(edge.url + path, {
      method: "POST",
      headers: { authorization: `Bearer ${new URL(edge.state).password}`, "x-test-now": "0" },
      body: JSON.stringify({ object: "registry", operation: "items", args: [] }),
    });
    expect([404, 405]).toContain(answer.status);
  }
});
