/** A session that a clock ahead published before it began, and that was withdrawn, is published in its time. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inProcess } from "./run.ts";
import { catalogOf, quotesOf } from "./small-market.ts";

describe("a session that a wrong clock published before it began", () => {
  const at = (now: string) => ({ cwd: folder, env: { CHIPBOARD_NOW: now } });
  const run = async (line: string, now: string): Promise<number | null> => {
    const { code, stderr } = await inProcess([...line.split(" "), "--store", "x"], at(now));
    return stderr.includes("unexpected") ? -1 : code;
  };
  const quotes = (name: string, usd: number): void =>
    writeFileSync(join(folder, `${name}.csv`), quotesOf({ a: usd, b: 5 }));
  const BACK = "snapshots rollback 2026-11-15T12Z/r1 --reason clock";

  let folder: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "chipboard-early-"));
    writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
    quotes("q1", 11);
    quotes("q2", 12);
    expect(await run("publish --catalog c.csv --quotes q1.csv", "2026-11-15T12:05:00Z")).toBe(0);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("is published by the job at its time, without --revise, if sessions came between", async () => {
    expect(await run("publish --quotes q2.csv", "2026-11-17T00:05:00Z")).toBe(0);
    expect(await run(BACK, "2026-11-16T00:20:00Z")).toBe(0);
    expect(await run("publish --quotes q1.csv", "2026-11-16T00:21:00Z")).toBe(0);
    expect(await run("publish --quotes q2.csv", "2026-11-16T12:05:00Z")).toBe(0);
    expect(await run("publish --quotes q2.csv", "2026-11-17T00:05:30Z")).toBe(0);
  });

  test("also if it left sessions out and none came between, or its time has not come", async () => {
    expect(await run("publish --quotes q2.csv", "2026-11-17T00:05:00Z")).toBe(0);
    expect(await run(BACK, "2026-11-16T22:00:00Z")).toBe(0);
    expect(await run("publish --quotes q1.csv", "2026-11-17T00:05:30Z")).toBe(0);
  });

  test("and also the next one, 13 hours ahead", async () => {
    expect(await run("publish --quotes q2.csv", "2026-11-16T11:05:00Z")).toBe(0);
    expect(await run(BACK, "2026-11-15T22:05:00Z")).toBe(0);
    expect(await run("publish --quotes q1.csv", "2026-11-16T00:05:00Z")).toBe(0);
  });

  test("with a clock that is behind, changed levels name the clock", async () => {
    expect(await run("publish --quotes q2.csv", "2026-11-16T12:30:00Z")).toBe(0);
    const line = "publish --quotes q1.csv --store x".split(" ");
    const right = await inProcess(line, at("2026-11-16T12:31:00Z"));
    expect([right.code, right.stderr]).toEqual([4, expect.not.stringContaining("clock")]);
    const behind = await inProcess(line, at("2026-11-16T12:06:00Z"));
    expect([behind.code, behind.stderr]).toEqual([
      4,
      expect.stringMatching(
        /the clock says 2026-11-16T12:06:.* before the newest entry of the log/,
      ),
    ]);
  });

  test("one that was published in its time and withdrawn still needs it", async () => {
    expect(await run("publish --quotes q2.csv", "2026-11-16T00:05:00Z")).toBe(0);
    expect(await run(BACK, "2026-11-16T00:10:00Z")).toBe(0);
    expect(await run("publish --quotes q1.csv", "2026-11-16T00:15:00Z")).toBe(4);
  });
});
