/** chipboard as its callers meet it: a small market, accounts with keys, `serve` as a process. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { withRegistry } from "../../src/state/open.ts";
import { createClock } from "../../src/lib/clock.ts";
import { dateText, dayOf, parseSession, type Session } from "../../src/market/session.ts";
import type { KeyTierName } from "../../src/market/tier.ts";
import { endWithUs } from "../bench/child.ts";
import { BIN, chipboard, chipboardEnv } from "../bench/program.ts";

/** The one session published, and the instant that clocks start at where nothing else is said. */
export const SESSION = "2026-11-21T00Z";
export const NOW = "2026-11-21T00:05:00Z";

const START_MS = 60_000;

export const contractId = (at: number): string => `item-${at}`;

/**
 * Publishes `contracts` contracts with closes of `days` days before the session. The last one but
 * one never had a level, the last one changed its unit a month ago. Returns the store.
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
  await chipboard(["publish", "--store", store, "--session", SESSION, ...feeds], NOW);
  return store;
}

export interface Account {
  readonly name: string;
  readonly tier: KeyTierName;
  readonly key: string;
}

let accounts = 0;

/** A fresh account with a key. */
export async function addAccount(state: string, tier: KeyTierName): Promise<Account> {
  accounts += 1;
  const name = `faults-${process.pid}-${Date.now().toString(36)}-${accounts}`;
  const clock = createClock(NOW);
  const key = await withRegistry(state, clock, "change", async (registry) => {
    await registry.addAccount(name, tier, null);
    return (await registry.createKey(name, null)).key;
  });
  return { name, tier, key };
}

export interface ProxyOptions {
  /** The file that the log is appended to. */
  readonly log: string;
  /** When its clock starts (ISO 8601). */
  readonly now?: string;
  /** The script to run; the program's own without. */
  readonly script?: string;
}

/** A proxy in a process of its own, on a free port of the loopback. */
export class Proxy {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(url: string, child: ChildProcess, ended: Promise<unknown>) {
    this.url = url;
    this.#child = child;
    this.#ended = ended;
  }

  /** `chipboard serve ARGS`; resolves when it listens. Throws, with its log, where it does not. */
  static serve(args: readonly string[], options: ProxyOptions): Promise<Proxy> {
    return Proxy.start(["serve", "--port", "0", "--metrics-port", "off", ...args], options);
  }

  /** Any script that says `listening on URL`. */
  static async start(args: readonly string[], options: ProxyOptions): Promise<Proxy> {
    const { log, now = NOW, script = BIN } = options;
    const file = openSync(log, "a");
    const child = spawn(process.execPath, [script, ...args], {
      env: chipboardEnv(now),
      stdio: ["ignore", "pipe", file],
    });
    closeSync(file);
    endWithUs(child);
    const ended = once(child, "exit");
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (said += text));
    const deadline = performance.now() + START_MS;
    while (performance.now() < deadline && child.exitCode === null && child.signalCode === null) {
      const url = /^listening on (http:\S+)$/m.exec(said)?.[1];
      if (url !== undefined) return new Proxy(url, child, ended);
      await delay(5);
    }
    child.kill("SIGKILL");
    throw new Error(`The proxy did not start: ${readFileSync(log, "utf8").slice(-2_000)}`);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Whether the process that was started still runs. */
  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** SIGKILL, at once; resolves when the process is gone. */
  async kill(): Promise<void> {
    if (this.isAlive) this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** SIGTERM. Throws where the end is not an orderly one. */
  async end(): Promise<void> {
    if (this.isAlive) this.#child.kill("SIGTERM");
    await this.#ended;
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== 0) throw new Error(`The proxy ended with ${exitCode ?? signalCode}`);
  }
}
