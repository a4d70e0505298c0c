/** Runs the program over a small market in files. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { readInput } from "../../src/ledger/kept-inputs.ts";
import { identityOf, type Manifest } from "../../src/snapshot/manifest.ts";
import { readPublications } from "../store/log-entries.ts";
import { objectsOf, readManifest, readVerified } from "../../src/snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { SESSIONS, snapshotFolder } from "../../src/store/paths.ts";
import { inProcess } from "../cli/run.ts";
import {
  chipboard as ownProcess,
  serve as startServe,
  type Ran,
  type Serving,
} from "../program/program.ts";

export const API = "/api/public/v1";
/** The sessions of the market, and the start of the program's clock. */
export const SESSION = "2026-11-21T00Z";
export const NEXT_SESSION = "2026-11-21T12Z";
export const NOW = "2026-11-21T12:05:00Z";

const CONTRACTS = 12;

/** Settings that hide the machine's own credentials. */
const SETTINGS = {
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_SHARED_CREDENTIALS_FILE: "/nonexistent/aws",
  AWS_CONFIG_FILE: "/nonexistent/aws",
  CHIPBOARD_NOW: NOW,
};

export type Environment = Readonly<Record<string, string>>;

/** Runs `chipboard` in this process, one at a time; a failing `serve` in a process of its own. */
export const chipboard = (args: readonly string[], env: Environment = {}): Promise<Ran> =>
  (args[0] === "serve" ? ownProcess : inProcess)(args, { env: { ...SETTINGS, ...env } });

/** Starts `chipboard serve --json` on a free port; resolves when it listens. */
export const serve = (args: readonly string[], env: Environment = {}): Promise<Serving> =>
  startServe(["--json", ...args], { env: { ...SETTINGS, ...env } });

/** Ends the processes that a failed test left. */
export async function killed(servings: Serving[]): Promise<void> {
  for (const serving of servings.splice(0)) await serving.end("SIGKILL");
}

/** Waits until `check` returns true. */
export async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 300_000; performance.now() < deadline;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("The condition was not met within 5 minutes");
}

export interface Market {
  readonly catalog: string;
  /** Quotes of a session; the factor multiplies the levels. */
  quotes(session: string, factor?: number): string;
}

/** The text of a small market's feeds: every contract has a level in every session. */
export const market: Market = {
  catalog: lines(
    "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url",
    (at) =>
      `item-${at},T${at},Item ${at},${at === 0 ? "semiconductor" : "memory"},DRAM,USD per piece,5,A source,https://example.com/${at}`,
  ),
  quotes: (session, factor = 1) =>
    lines("id,session_utc,spot_usd", (at) => `item-${at},${session},${(at + 1) * factor}`),
};

export interface MarketFiles {
  readonly catalog: string;
  readonly quotes: string;
  readonly nextQuotes: string;
}

/** Writes the market's files into `folder`. */
export async function writeMarket(folder: string): Promise<MarketFiles> {
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  return {
    catalog: await write("catalog.csv", market.catalog),
    quotes: await write("quotes.csv", market.quotes(SESSION)),
    nextQuotes: await write("next-quotes.csv", market.quotes(NEXT_SESSION)),
  };
}

/**
 * Checks that the log has no gap and that every object it names exists, byte for byte. Returns the
 * manifest of the head; `orphans` are keys below sessions/ that no published manifest names.
 */
export async function verified(
  store: ObjectStore,
): Promise<{ publications: number; manifest: Manifest; orphans: string[] }> {
  const log = await readPublications(store);
  const named = new Set<string>();
  let manifest: Manifest | undefined;
  for (const entry of log) {
    manifest = await readManifest(store, entry, entry.manifest_sha256);
    expect(identityOf(manifest.files, manifest.ledger)).toBe(manifest.identity);
    named.add(`${snapshotFolder(entry)}manifest.json`);
    for (const { key, sha256, bytes } of objectsOf(entry, manifest)) {
      named.add(key);
      expect(await readVerified(store, key, sha256, bytes)).toHaveLength(bytes);
    }
    for (const { key } of manifest.inputs) await readInput(store, key);
  }
  const orphans: string[] = [];
  for await (const { key } of store.list(SESSIONS)) if (!named.has(key)) orphans.push(key);
  return { publications: log.length, manifest: manifest as Manifest, orphans };
}

/** How often each value occurs. */
export function tally(values: Iterable<unknown>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
}

function lines(header: string, row: (at: number) => string): string {
  return `${[header, ...Array.from({ length: CONTRACTS }, (_, at) => row(at))].join("\n")}\n`;
}
