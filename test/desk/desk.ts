/** Runs the commands `snapshots …` in this process, and creates stores for them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ObjectStore } from "../../src/ports/store.ts";
import { catalogOf, quotesOf, type Run } from "../cli/small-market.ts";
import { inProcess } from "../cli/run.ts";

/** The exit code and the output of a command. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `chipboard snapshots ARGS`, or another command if the first word names one. */
export async function desk(line: string, store: string, now = NOW, env = {}): Promise<Said> {
  const args = line.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
  const words = args[0] === "publish" ? args : ["snapshots", ...args];
  const { code, stdout, stderr } = await inProcess(words, {
    env: { CHIPBOARD_STORE: store, CHIPBOARD_NOW: now, ...env },
  });
  return { code: code as number, out: stdout, err: stderr };
}

/** The same with `--json`, parsed. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests check the fields that they read
export async function deskJson(line: string, store: string, now = NOW, env = {}): Promise<any> {
  return JSON.parse((await desk(`${line} --json`, store, now, env)).out);
}

export const NOW = "2026-11-22T12:05:00Z";
export const CATALOG = catalogOf([
  { id: "a" },
  { id: "b" },
  { id: "c", board: "semiconductor" },
  { id: "d" },
]);

/** A year of monthly closes, so that the index has constituents. */
const CLOSES = [
  "id,date,close_usd",
  ...["a", "b", "c"].flatMap((id, at) =>
    Array.from({ length: 26 }, (_, back) => {
      const date = new Date(Date.UTC(2026, 10, 18) - back * 15 * 86_400_000);
      return `${id},${date.toISOString().slice(0, 10)},${10 + at}`;
    }),
  ),
  "",
].join("\n");

/** Three sessions: 20 12:00 is missed, d is listed late, c is carried from 21 00:00 on. */
export const RUNS: readonly Run[] = [
  {
    session: "2026-11-20T00Z",
    catalog: CATALOG,
    closes: CLOSES,
    quotes: quotesOf({ a: 10, b: 11, c: 12 }),
    minCoverageMicros: 0,
  },
  {
    session: "2026-11-21T00Z",
    quotes: quotesOf({ a: 12, b: 10.5, d: 3 }),
    minCoverageMicros: 0,
  },
  {
    session: "2026-11-21T12Z",
    quotes: quotesOf({ a: 12.5, b: 10.5, d: 3.1 }),
    minCoverageMicros: 0,
  },
];

/** A new folder, which is removed at the end of the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-desk-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Replaces the bytes of an object. No store does this itself. */
export async function overwrite(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key);
  await store.create(key, bytes);
}

/** Flips one bit in the middle of an object. */
export async function flip(store: ObjectStore, key: string): Promise<void> {
  const bytes = Buffer.from((await store.get(key)) as Buffer);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  await overwrite(store, key, bytes);
}

export async function keysOf(store: ObjectStore, prefix = ""): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}
