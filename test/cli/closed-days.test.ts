/** Days on which sources do not price: the job runs as ever, and publishes carried levels. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isClosedDay } from "../../src/commands/closed-days.ts";
import { summaryLines } from "../../src/publish/summary.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { at, catalogOf, headJson, quotesOf, tryPublish, type Run } from "./small-market.ts";
import { inProcess } from "./run.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "closed-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Friday noon. */
const FRIDAY = "2026-11-20T12Z";
const SATURDAY = "2026-11-21T12Z";

async function publishedOnFriday(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const run = { session: FRIDAY, catalog: catalogOf(["a", "b", "c"]) };
  const { code } = await tryPublish(store, { ...run, quotes: quotesOf({ a: 1, b: 2, c: 3 }) });
  expect(code).toBe(0);
  return store;
}

describe("a feed on a Saturday", () => {
  test.each([
    ["without rows", "id,spot_usd\n"],
    ["of one contract", quotesOf({ a: 1 })],
    ["in which nothing moves", quotesOf({ a: 1, b: 2, c: 3 })],
  ])("%s is published on a closed day, and refused on another", async (_, quotes) => {
    const store = await publishedOnFriday();
    const run: Run = { session: SATURDAY, quotes, maxUnchangedSessions: 0 };
    expect((await tryPublish(store, run)).code).toBe(3);
    const { code, result } = await tryPublish(store, { ...run, isClosedDay: true });
    expect(code).toBe(0);
    expect(result && summaryLines(result, "s")).toContain(
      "Closed     a closed day: sparse and unchanged refuse nothing",
    );
    const { options, judgements } = await headJson(store, "manifest.json");
    expect([options.closed_day, judgements]).toEqual([true, []]);
  });

  test("moves are still refused", async () => {
    const store = await publishedOnFriday();
    const run = { session: SATURDAY, quotes: quotesOf({ a: 9 }), isClosedDay: true };
    expect((await tryPublish(store, run)).code).toBe(3);
  });

  test("a closed day is no part of another day's manifest", async () => {
    const { options } = await headJson(await publishedOnFriday(), "manifest.json");
    expect(options).not.toHaveProperty("closed_day");
  });
});

describe("which days are closed", () => {
  test.each([
    ["2026-11-20T12Z", ["Sat", "Sun"], "", false],
    ["2026-11-21T00Z", ["Sat", "Sun"], "", true],
    ["2026-11-22T12Z", ["Sat", "Sun"], "", true],
    ["2026-11-23T00Z", ["Sat", "Sun"], "", false],
    ["2026-12-25T00Z", [], "2026-12-25\n", true],
    ["2026-12-25T12Z", ["Sat"], "# feasts\n\n2026-12-24\r\n 2026-12-25 # Christmas", true],
    ["2026-12-26T00Z", [], "2026-12-25", false],
  ] as const)("%s: --closed %j, --holidays %j: %s", async (session, closed, text, expected) => {
    const file = join(folder, "holidays.txt");
    await writeFile(file, text);
    expect(await isClosedDay(at(session), closed, file)).toBe(expected);
  });
});

describe("the options", () => {
  const publishWith = (args: readonly string[]) =>
    inProcess(["publish", "--store", folder, "--quotes", "-", ...args]);

  test.each([
    [["--closed", "Saturday"], /--closed "?Saturday"?.*expected days such as Sat,Sun/],
    [["--closed", ""], /--closed.*expected days such as Sat,Sun/],
    [["--holidays", "no-such-file"], /--holidays "no-such-file": cannot be read/],
  ])("%j is refused", async (args, expected) => {
    const { code, stderr } = await publishWith(args);
    expect([code, stderr]).toEqual([2, expect.stringMatching(expected)]);
  });

  test("a file of holidays names each line that is no date", async () => {
    const file = join(folder, "wrong.txt");
    await writeFile(file, "2026-12-25\n25.12.2026\n2026-02-30 # no such day\n");
    const { code, stderr } = await publishWith(["--holidays", file]);
    expect(code).toBe(2);
    expect(stderr).toContain('line 2: "25.12.2026", expected a date such as 2026-12-25');
    expect(stderr).toContain('line 3: "2026-02-30"');
  });

  test("a file of something else is refused in a hundred lines", async () => {
    const file = join(folder, "other.txt");
    await writeFile(file, `${"x".repeat(500)}\n`.repeat(102));
    const { code, stderr } = await publishWith(["--holidays", file]);
    expect(code).toBe(2);
    expect(stderr.match(/^ {2}line .*$/gm)).toHaveLength(100);
    expect(stderr).toMatch(
      /^ {2}line 100: "x{120}…", expected a date such as 2026-12-25\n {2}and 2 more lines$/m,
    );
  });
});
