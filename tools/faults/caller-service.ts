/** What the fault tests serve: a small market, and accounts with keys. */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { linkAddress } from "../../src/core/find/link-target.ts";
import { withRegistry } from "../../src/state/open.ts";
import { createClock } from "../../src/lib/clock.ts";
import { dateText, dayOf, parseSession, type Session } from "../../src/market/session.ts";
import type { KeyTierName } from "../../src/market/tier.ts";
import { NOW, outputOf } from "../../test/program/program.ts";

/** The one session that is published. */
export const SESSION = "2026-11-21T00Z";

const LINKED = "/export.csv";

export const contractId = (at: number): string => `item-${at}`;

/**
 * Publishes `contracts` contracts with the closes of `days` days before the session. The last but
 * one has no level, the last one changed its unit a month ago. Returns the folder of the store.
 */
export async function publishMarket(
  folder: string,
  contracts: number,
  days: number,
): Promise<string> {
  const inputs = join(folder, "inputs");
  const store = join(folder, "snapshots");
  mkdirSync(inputs, { recursive: true });
  const write = (name: string, lines: readonly string[]): string => {
    writeFileSync(join(inputs, name), `${lines.join("\n")}\n`);
    return join(inputs, name);
  };
  const all = Array.from({ length: contracts }, (_, at) => at);
  const priced = all.filter((at) => at !== contracts - 2);
  const levelUsd = (at: number, day: number): string => (10 + at + (day % 7) / 8).toFixed(3);
  const today = dayOf(parseSession(SESSION) as Session);
  const dates = Array.from({ length: days }, (_, index) => today - days + index);
  const catalog = write("catalog.csv", [
    "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb",
    ...all.map((at) => {
      const board = at % 5 === 4 ? "semiconductor,Foundry" : "memory,DRAM";
      return `${contractId(at)},T${at},Item ${at},${board},USD per piece,${at % 101},A source,https://example.com/${at},2`;
    }),
  ]);
  const quotes = write("quotes.csv", [
    "id,spot_usd",
    ...priced.map((at) => `${contractId(at)},${levelUsd(at, today)}`),
  ]);
  const closes = write("closes.csv", [
    "id,date,close_usd,break",
    ...priced.flatMap((at) =>
      dates.map((day) => {
        const reason = at === contracts - 1 && day === today - 30 ? "By the tray" : "";
        return `${contractId(at)},${dateText(day)},${levelUsd(at, day)},${reason}`;
      }),
    ),
  ]);
  const feeds = ["--catalog", catalog, "--quotes", quotes, "--closes", closes];
  await outputOf(["publish", "--store", store, "--session", SESSION, ...feeds]);
  return store;
}

export interface Account {
  readonly name: string;
  readonly tier: KeyTierName;
  readonly key: string;
  /** The address of a link that reads its export. */
  readonly link: string;
}

/** Adds a new account with a key. */
export async function addAccount(state: string, tier: KeyTierName): Promise<Account> {
  const name = `faults-${randomUUID()}`;
  const clock = createClock(NOW);
  return withRegistry(state, clock, "create", async (registry) => {
    await registry.addAccount(name, tier, null);
    const { key } = await registry.createKey(name, null);
    const { token } = await registry.createLink(name, LINKED, null);
    return { name, tier, key, link: linkAddress(token, LINKED) };
  });
}
