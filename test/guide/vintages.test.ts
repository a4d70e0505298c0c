/** The programs in the guide that read old publications: a back-test, and the copy of the histories. */
import { parse } from "csv-parse/sync";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { KEY_TIER_NAMES, TIERS, type KeyTierName } from "../../src/market/tier.ts";
import { readHead } from "../store/log-entries.ts";
import { openAccounts } from "../../src/state/open.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, lines, mustPublish, quotesOf } from "../cli/small-market.ts";
import { eventually, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { clientOf } from "./guide-texts.ts";
import { Copy, programUnder, run, startFront, type Front, type Row } from "./programs.ts";

const API = "/api/public/v1";
const AFTER_ALL = "2026-11-29T12:00:00Z";

let clock: TestClock;
let store: MemoryStore;
let folder: string;
let proxy: TestProxy;
let front: Front;
beforeEach(async () => {
  clock = new TestClock(Date.parse(AFTER_ALL));
  store = new MemoryStore();
  folder = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
  proxy = await startTestProxy({ store, clock, state: join(folder, "state") });
  front = await startFront(proxy.url);
});
afterEach(async () => {
  await front.close();
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

test("the copy's program has at most 10 lines", () => {
  expect(programUnder("A copy in SQLite").trimEnd().split("\n").length).toBeLessThanOrEqual(10);
});

testWith("python3")("a back-test does not see later corrections", async () => {
  await publishFirst();
  await publishQuotes("2026-11-22T00Z", 12);
  const restated = lines(
    "id,session_utc,spot_usd",
    "bravo,2026-11-21T00Z,13",
    "bravo,2026-11-22T00Z,14",
  );
  await mustPublish(store, {
    session: "2026-11-23T00Z",
    quotes: [quotesOf({ alpha: 12, bravo: 14 }), restated],
    revise: "The source restated two sessions",
  });
  await served();
  await writeFile(join(folder, "client.py"), clientOf(front.url));
  const file = join(folder, "backtest.py");
  await writeFile(file, programUnder("A back-test in Python"));
  await prune(store, 1, false, clock);
  await eventually(
    async () => (await proxy.get(`${API}/publications`)).json.publications.length > 3,
  );
  const strict = ["-B", "-W", "error", file];
  const { stdout, stderr } = await run("python3", strict, folder, proxy.pro);
  expect([stdout.split("\n"), stderr]).toEqual([
    [
      "2026-11-21T00:05:00.000Z refused: 410 pruned: The snapshot of publication 1 was removed.",
      "2026-11-22T00:05:00.000Z alpha",
      "2026-11-23T00:05:00.000Z bravo",
      "",
    ],
    "",
  ]);
  const behind = await run("python3", strict, folder, proxy.starter);
  expect(behind.stdout).toMatch(/^\S+ refused: 410 .*\n(?:2026-\S+ (?:alpha|bravo)\n){2}$/);
});

testWith("python3")(
  "a back-test from two files does not either, and reads pruned entries",
  async () => {
    await publishFirst();
    await publishQuotes("2026-11-22T00Z", 12);
    const restated = lines("id,session_utc,spot_usd", "bravo,2026-11-22T00Z,13");
    await mustPublish(store, {
      session: "2026-11-22T12Z",
      quotes: restated,
      revise: "The source restated a session",
      allowSparse: true,
    });
    await prune(store, 0, false, clock);
    await served();
    await eventually(
      async () => (await proxy.get(`${API}/publications`)).json.publications.length === 4,
    );
    await writeFile(join(folder, "client.py"), clientOf(front.url));
    const program = programUnder("A back-test from two files");
    const { stdout, stderr } = await run(
      "python3",
      ["-B", "-W", "error", "-c", program],
      folder,
      proxy.pro,
    );
    expect([stdout.split("\n"), stderr]).toEqual([
      [
        "2026-11-21T00:05:00.000Z alpha",
        "2026-11-22T00:05:00.000Z alpha",
        "2026-11-22T12:05:00.000Z bravo",
        "",
      ],
      "",
    ]);
  },
);

describe("the copy", () => {
  /** What happens, and how many calls it costs to follow at most. */
  const STEPS: readonly (readonly [
    what: string,
    happens: () => Promise<unknown>,
    calls: number,
  ])[] = [
    ["the first publication", () => publishFirst(), 1],
    ["a session", () => publishQuotes("2026-11-21T12Z", 11), 6],
    ["corrections", () => correctCloses("2026-11-21T12Z"), 6],
    ["another session", () => publishQuotes("2026-11-22T00Z", 12), 6],
    ["a withdrawn session", () => publishQuotes("2026-11-22T12Z", 13), 6],
    ["its rollback", () => rollBack(store, "2026-11-22T00Z/r1", "Wrong feed", NOON), 6],
    ["a prune", () => prune(store, 0, false, NOON), 0],
    ["the session again", () => publishQuotes("2026-11-22T12Z", 12.5, "The right feed"), 6],
    ["two sessions at once", () => publishTwo(), 6],
    ["another id, and a missed session", () => rename(), 6],
    ["another prune", () => prune(store, 0, false, clock), 0],
  ];
  const NOON = { now: () => Date.parse("2026-11-22T13:00:00Z") };

  testWith("python3").each(KEY_TIER_NAMES)(
    "%s: equals the head's file after each step",
    async (tier) => {
      const copy = await Copy.create(folder, front, proxy[tier]);
      const contents = new Map<string, unknown>();
      for (const [what, happens, calls] of STEPS) {
        await happens();
        await served();
        const before = await used(tier);
        expect(await copy.run(), what).toMatchObject({ code: 0, stderr: "" });
        expect((await used(tier)) - before, what).toBeLessThanOrEqual(calls);
        const rows = copy.rows();
        expect(rows, what).toEqual(await headRows(tier));
        expect(copy.cursor()["number"], what).toBe((await readHead(store))?.number);
        contents.set(what, rows);
      }
      const before = await used(tier);
      expect(await copy.run()).toMatchObject({ code: 0, stdout: "" });
      expect(await used(tier)).toBe(before);
      expect(contents.get("corrections")).not.toEqual(contents.get("a session"));
      expect(contents.get("a withdrawn session")).not.toEqual(contents.get("another session"));
      expect(contents.get("its rollback")).toEqual(contents.get("another session"));
    },
  );

  testWith("python3")("can be killed at any line", async () => {
    await publishFirst();
    await served();
    const copy = await Copy.create(folder, front, proxy.pro);
    await copy.run();
    const old = copy.rows();
    await correctCloses("2026-11-21T00Z");
    await served();
    const corrected = await headRows("pro");
    expect(corrected).not.toEqual(old);
    const killed = await copy.killAtEachLine();
    const numbers = killed.map((at) => at.cursor()["number"]);
    for (const [line, at] of killed.entries()) {
      expect(at.rows(), `killed after ${line} lines`).toEqual(
        numbers[line] === 1 ? old : corrected,
      );
    }
    expect(new Set(numbers)).toEqual(new Set([1, 2]));
    expect(copy.rows()).toEqual(corrected);
  });

  testWith("python3")("stays as it was when an answer ends early", async () => {
    await publishFirst();
    await served();
    const copy = await Copy.create(folder, front, proxy.starter);
    await copy.run();
    const old = copy.rows();
    await publishQuotes("2026-11-21T12Z", 11);
    await served();
    front.cutsFiles = true;
    expect((await copy.run()).code).toBe(1);
    expect(copy.rows()).toEqual(old);
    front.cutsFiles = false;
    await copy.run();
    expect(copy.rows()).toEqual(await headRows("starter"));
  });

  testWith("python3")("takes a later publication when a prune was faster", async () => {
    await publishFirst();
    await served();
    const copy = await Copy.create(folder, front, proxy.starter);
    await copy.run();
    await publishQuotes("2026-11-21T12Z", 11);
    await served();
    front.beforeFile = async () => {
      front.beforeFile = async () => {};
      await publishTwo();
      await prune(store, 0, false, clock);
      await served();
    };
    expect((await copy.run()).stdout).toMatch(/^Copied publication 4 with \d+ bytes\n$/);
    expect(copy.rows()).toEqual(await headRows("starter"));
  });

  testWith("python3")("says so while there is no session", async () => {
    const empty = await startTestProxy({ store: new MemoryStore(), pollMs: 3_600_000 });
    try {
      front.target = empty.url;
      const copy = await Copy.create(folder, front, empty.starter);
      await copy.runRefused("client.Refused: 503 no_session: ");
    } finally {
      await empty.close();
    }
  });

  testWith("python3")(
    "says that the calls are used up, until the account is upgraded",
    async () => {
      const copy = await Copy.create(folder, front, proxy.starter);
      await publishFirst();
      await served();
      await spendQuota();
      await copy.runRefused("client.Refused: 429 quota_exceeded: All ");
      expect(copy.rows()).toEqual([]);
      await proxy.registry.setAccount("small", { tier: "pro" });
      await eventually(async () => (await copy.run()).code === 0);
      expect(copy.rows()).toEqual(await headRows("starter"));
    },
  );
});

const CLOSES = lines(
  "id,date,close_usd,low_usd,high_usd,break",
  "bravo,2021-11-20,4,,,",
  "bravo,2021-11-26,5,,,",
  "bravo,2025-11-20,6,,,",
  "bravo,2026-08-25,7,6.5,7.25,",
  'bravo,2026-11-19,9,,,"Sold by the tray, ""as is"""',
  "alpha,2026-11-19,10.125,10,10.5,",
  "bravo,2026-11-20,9.5,,,",
);
const IDS = ["alpha", "bravo"];

const publishFirst = (): Promise<string> =>
  mustPublish(store, {
    session: "2026-11-21T00Z",
    catalog: catalogOf(IDS),
    closes: CLOSES,
    quotes: lines("id,spot_usd,low_usd,high_usd,inputs", "alpha,11,10.5,11.5,12", "bravo,10,,,"),
    attribution: "Test levels, not market data",
  });

const publishQuotes = (session: string, alphaUsd: number, revise?: string): Promise<string> =>
  mustPublish(store, {
    session,
    quotes: quotesOf({ alpha: alphaUsd, bravo: 10 }),
    ...(revise !== undefined && { revise }),
  });

/** Corrects a close that both tiers have, and adds one that was missing. */
const correctCloses = (session: string): Promise<string> =>
  mustPublish(store, {
    session,
    closes: lines("id,date,close_usd", "alpha,2026-11-19,10.25", "bravo,2026-11-18,8.75"),
    revise: "The source restated the close",
  });

async function publishTwo(): Promise<void> {
  await publishQuotes("2026-11-23T00Z", 12);
  await publishQuotes("2026-11-23T12Z", 13);
}

/** Gives bravo another id, and a level to a session that nobody published. */
const rename = (): Promise<string> =>
  mustPublish(store, {
    session: "2026-11-24T12Z",
    catalog: catalogOf(["alpha", { id: "bravo-spot", name: "Contract bravo", formerly: "bravo" }]),
    quotes: [
      quotesOf({ alpha: 13, "bravo-spot": 11 }),
      lines("id,session_utc,spot_usd", "alpha,2026-11-24T00Z,12.75"),
    ],
  });

/** Waits until the proxy serves the head. */
async function served(): Promise<void> {
  const head = await readHead(store);
  await eventually(async () => {
    const { headers } = await proxy.get(`${API}/prices`, { method: "HEAD", key: proxy.pro });
    return headers["x-publication"] === String(head?.number);
  });
}

const used = async (tier: KeyTierName): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key: proxy[tier] })).json.used;

async function spendQuota(): Promise<void> {
  const accounts = await openAccounts(join(folder, "state"), clock);
  const verdict = await accounts.verdicts.authenticate(proxy.starter);
  const { subject, keyId } = verdict;
  if (subject === null) throw new Error(String(verdict.refusal));
  const limit = TIERS.starter.callsPerMonth;
  await Promise.all(
    Array.from({ length: limit ?? 0 }, async () =>
      accounts.counts.take(subject, limit, clock.now(), keyId),
    ),
  );
  await accounts.close();
}

/** The rows of the file as it is now, as the database has them. */
async function headRows(tier: KeyTierName): Promise<Row[]> {
  const { status, text } = await proxy.get(`${API}/history.csv`, { key: proxy[tier] });
  expect(status).toBe(200);
  const records: Record<string, string>[] = parse(text, { columns: true });
  const number = (cell: string | undefined): number | null => (cell ? Number(cell) : null);
  return records.map((record) => ({
    ...record,
    close_usd: number(record["close_usd"]),
    low_usd: number(record["low_usd"]),
    high_usd: number(record["high_usd"]),
    inputs: number(record["inputs"]),
    break_reason: record["break_reason"] || null,
  }));
}
