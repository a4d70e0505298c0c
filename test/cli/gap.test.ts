/** The gate `gap`: nothing is appended to the log by a clock that is far from its newest entry. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { Ran } from "../program/program.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { readEntries } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  catalogOf,
  contentOf,
  headJson,
  mustPublish,
  quotesOf,
  tryPublish,
} from "./small-market.ts";
import { withoutFiles } from "./older-head.ts";
import { inProcess } from "./run.ts";
import { NOON } from "./two-sessions.ts";

const DAWN = "2026-11-21T00Z";
/** In the fourteenth session after NOON, and in the fifteenth. */
const [IN_TIME, LATE] = ["2026-11-28T12:05:00Z", "2026-11-29T00:00:00Z"];
const NEWEST = "the newest entry of the log (number 3, at 2026-11-21T12:05:00.000Z)";

let folder: string;
let store: FolderStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-gap-"));
  store = new FolderStore(join(folder, "x"));
  writeFileSync(join(folder, "fix.csv"), quotesOf({ a: 12.5, b: 5 }));
  await mustPublish(store, { catalog: catalogOf(["a", "b"]), quotes: quotesOf({ a: 11, b: 5 }) });
  await mustPublish(store, { quotes: quotesOf({ a: 11.5, b: 5 }), revise: "early" });
  await mustPublish(store, { session: NOON, quotes: quotesOf({ a: 12, b: 5 }) });
  // As another version made it, so that there is something to render anew.
  await withoutFiles(store, /^report\.html$/);
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (line: string, now: string): Promise<Ran> =>
  inProcess([...line.split(" "), "--store", "x"], { cwd: folder, env: { CHIPBOARD_NOW: now } });
/** What a refusal says, without progress. */
const said = ({ stderr }: Ran): string[] =>
  stderr
    .replace(/^.*?(?=error: )/s, "")
    .trimEnd()
    .split("\n");

describe.each([
  [`publish --quotes fix.csv --session ${NOON} --revise late`, true],
  ["publish --rerender anew", true],
  [`snapshots rollback ${DAWN} --reason wrong`, false],
  ["snapshots prune --keep-days 0", true],
])("%s", (line, canPlan) => {
  const [verb, end] = line.includes("--revise")
    ? ["publish", "nothing was written"]
    : ["run this again", "the log stays as it is"];
  const lines = canPlan ? [`${line} --dry-run`, line] : [line];

  test.each([
    ["2036-11-21T12:05:00Z", "7306 sessions after", "the clock may be wrong"],
    [LATE, "15 sessions after", "the clock may be wrong"],
  ])("by a clock of %s: 3, and nothing is written", async (now, far, why) => {
    const before = await contentOf(store);
    for (const each of lines) {
      const ran = await run(each, now);
      expect([ran.code, ran.stdout]).toEqual([3, ""]);
      expect(said(ran)).toEqual([
        `error: Refused: 1 finding; ${end}`,
        expect.stringMatching(/^ {2}The clock says 20[23][0-9-]+T[0-9:.]+Z, /),
        `  If the clock is right, ${verb} with --accept gap`,
      ]);
      expect(said(ran)[1]).toContain(`, ${far} ${NEWEST}, expected at most 14: ${why}`);
    }
    expect(await contentOf(store)).toEqual(before);
  });

  test("--accept gap and a larger --max-gap let it through, and it has its time", async () => {
    if (canPlan) {
      for (const more of ["--accept gap", "--max-gap 15"]) {
        expect((await run(`${line} --dry-run ${more}`, LATE)).code).toBe(0);
      }
    }
    expect((await run(`${line} --accept gap`, LATE)).code).toBe(0);
    expect((await readEntries(store)).at(-1)).toMatchObject({
      number: 4,
      at: expect.stringMatching(/^2026-11-29T00:0/),
    });
  });

  test("14 sessions pass, also with --max-gap 13 and --accept gap", async () => {
    if (canPlan) expect((await run(`${line} --dry-run`, IN_TIME)).code).toBe(0);
    expect((await run(`${line} --max-gap 13`, IN_TIME)).code).toBe(3);
    expect((await run(`${line} --max-gap 13 --accept gap`, IN_TIME)).code).toBe(0);
  });

  test("--accept of a gate that refuses nothing: 2, and nothing is written", async () => {
    const before = await contentOf(store);
    for (const each of lines) {
      for (const [accept, now, rest] of [
        ["gap", IN_TIME, []],
        ["clock", LATE, [expect.stringContaining("15 sessions"), expect.any(String)]],
      ] as const) {
        const ran = await run(`${each} --accept ${accept}`, now);
        expect([ran.code, said(ran)]).toEqual([
          2,
          [
            `error: --accept names a gate that refuses nothing; ${end}`,
            `  --accept ${accept}: the gate ${accept} refuses nothing`,
            ...rest,
          ],
        ]);
      }
    }
    expect(await contentOf(store)).toEqual(before);
  });
});

test("a clock far before the newest entry is refused as well", async () => {
  const line = `snapshots rollback ${DAWN} --reason wrong`;
  const ran = await run(line, "2026-11-14T00:05:00Z");
  expect([ran.code, said(ran)[1]]).toEqual([
    3,
    expect.stringContaining(
      `15 sessions before ${NEWEST}, expected at most 14: the clock is wrong, or was when that entry was appended`,
    ),
  ]);
  expect((await run(line, "2026-11-14T12:05:00Z")).code).toBe(0);
});

test("a command with nothing to append needs no clock", async () => {
  for (const line of [
    "snapshots rollback head --reason wrong",
    "snapshots prune --keep-days 999",
    `publish --quotes same.csv --session ${NOON}`,
  ]) {
    writeFileSync(join(folder, "same.csv"), quotesOf({ a: 12, b: 5 }));
    expect((await run(line, "2036-11-21T12:05:00Z")).code).toBe(0);
  }
});

test.each(["rollback head~1 --reason x", "prune --keep-days 0"])(
  "%s accepts no gate on levels",
  async (line) => {
    const ran = await run(`snapshots ${line} --accept moves`, LATE);
    expect([ran.code, said(ran)]).toEqual([2, ['error: --accept "moves": expected gap or clock']]);
  },
);

test("a rerender keeps its accepted findings, beside the judgements of its content", async () => {
  expect((await run("publish --rerender anew --accept gap --by B --why W", LATE)).code).toBe(0);
  expect((await headJson(store, "manifest.json")).judgements).toEqual([
    { gate: "gap", contract: null, measured: 15, limit: 14, by: "B", why: "W" },
  ]);
});

test("a clock that jumps during a publish: 3, and the next run takes the same revision", async () => {
  const memory = new MemoryStore();
  await mustPublish(memory, { catalog: catalogOf(["a"]), quotes: quotesOf({ a: 11 }) });
  const snapshots = async (): Promise<string[]> =>
    Object.keys(await contentOf(memory)).filter((key) => /^(?:sessions|claims|publ)/.test(key));
  const before = await snapshots();
  const run = {
    session: NOON,
    quotes: quotesOf({ a: 12 }),
    nowMs: Date.parse("2026-11-21T12:05:00Z"),
  };
  // After the gates, before anything is written.
  const jumping = new InterceptedStore(memory, (_operation, act) => act());
  jumping.prove = async () => {
    run.nowMs = Date.parse("2036-11-21T12:05:00Z");
  };
  const { code, said: lines } = await tryPublish(jumping, run);
  expect([code, lines[0]]).toEqual([3, "Refused: 1 finding; the log stays as it is"]);
  expect(await snapshots()).toEqual(before);
  expect(await mustPublish(memory, { ...run, nowMs: Date.parse("2026-11-21T12:06:00Z") })).toBe(
    `${NOON}/r1`,
  );
});
