/** Stores that cannot be written, or that lose or change written bytes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { UnreachableError } from "../../src/lib/errors.ts";
import { InterceptedStore, isLogWrite } from "../faults/crash-store.ts";
import type { Ran } from "../program/program.ts";
import { catalogOf, contentOf, lines, mustPublish, quotesOf, tryPublish } from "./small-market.ts";
import { inProcess } from "./run.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `c${n}`);
const CATALOG = catalogOf(IDS);
const levels = (usd: number): string => quotesOf(Object.fromEntries(IDS.map((id) => [id, usd])));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-cli-faults-"));
  writeFileSync(join(folder, "c.csv"), CATALOG);
  writeFileSync(join(folder, "q.csv"), levels(11));
});
afterEach(() => rmSync(folder, { recursive: true }));

const publish = (line: string): Promise<Ran> =>
  inProcess(["publish", ...line.split(" ")], { cwd: folder });

describe("a store that cannot be written", () => {
  test("a store path that is a file, or below a file: 5", async () => {
    for (const place of ["q.csv", "q.csv/x"]) {
      const { code, stdout, stderr } = await publish(
        `--catalog c.csv --quotes q.csv --store ${place}`,
      );
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toMatch(
        new RegExp(`^error: --store "${place}": cannot .*\\((ENOTDIR|EEXIST)\\)$`, "m"),
      );
    }
    expect(readFileSync(join(folder, "q.csv"), "utf8")).toBe(levels(11));
  });

  test("a folder that cannot be created cannot be begun: 5, and the run ends", async () => {
    const { code, stderr } = await inProcess("store init --store /proc/nope".split(" "));
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining('error: --store "/proc/nope": cannot write "store.json": '),
    ]);
  });
});

test("a file that is larger than its readers accept: 2, it is named, and nothing is written", async () => {
  const store = new MemoryStore();
  const day = (at: number): string =>
    new Date(Date.UTC(2026, 10, 19 - at)).toISOString().slice(0, 10);
  const closes = (usd: number): string =>
    lines(
      "id,date,close_usd",
      ...Array.from({ length: 33 }, (_, at) => `c0,${day(at)},${usd + at}`),
    );
  await mustPublish(store, { catalog: CATALOG, quotes: levels(10), closes: closes(10) });
  const before = await contentOf(store);
  // Each of the 33 corrections has its reason.
  const run = {
    quotes: levels(10),
    closes: closes(11),
    revise: "x".repeat(1_000_000),
    acceptMoves: true,
  };
  const { code, said } = await tryPublish(store, run);
  expect([code, said]).toEqual([
    2,
    [
      expect.stringMatching(
        /^The snapshot exceeds a size limit: (?:\w+\/)?corrections\.json with 33\d{6} bytes, expected 32000000 or less$/,
      ),
    ],
  ]);
  expect(await contentOf(store)).toEqual(before);
});

test.each([
  /report\.html$/,
  /pro\/board\.json$/,
  /pro\/board\.json\.gz$/,
  /pro\/levels\.csv\.gz$/,
  /^ledger\/2026-11/,
])(
  "a store that loses or changes %s: 6, nothing is published, and the head stays",
  async (lost) => {
    const memory = new MemoryStore();
    await mustPublish(memory, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
    for (const kept of [null, "x"]) {
      const losing = new InterceptedStore(memory, async ({ kind, key }, run) => {
        if (kind !== "create" || !lost.test(key)) return run();
        if (kept !== null) await memory.create(key, Buffer.from(kept));
        return "created" as never;
      });
      const { code, said } = await tryPublish(losing, { quotes: levels(11) });
      expect([code, said.length]).toEqual([6, 2]);
      expect(said.join()).toMatch(
        /in memory: differs from the bytes that were written; it is not published/,
      );
      expect((await readHead(memory))?.number).toBe(1);
    }
  },
);

test.each([
  ["made and cannot be read", true, "; publication 2 may stand: run "],
  ["not made, nor can be read", false, "; publication 2 may stand: run "],
  ["made by another run", null, ""],
])("an entry of the log that is %s after the store failed: 5", async (_what, isMade, told) => {
  const memory = new MemoryStore();
  await mustPublish(memory, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
  let hasFailed = false;
  const failing = new InterceptedStore(memory, async (operation, run) => {
    if (isLogWrite(operation)) {
      hasFailed = true;
      if (isMade === true) await run();
      if (isMade === null) await mustPublish(memory, { quotes: levels(12) });
      throw new UnreachableError("the store fails");
    }
    if (hasFailed && isMade !== null) throw new UnreachableError("the store is away");
    return run();
  });
  const { code, said } = await tryPublish(failing, { quotes: levels(11) });
  const remedy = told && `${told}"chipboard snapshots ls" when the store answers`;
  expect([code, said]).toEqual([5, [`the store fails${remedy}`]]);
});
