/**
 * A publisher's month: a store, a Redis, four proxies under load, three accounts, a market. Each
 * session time is put forward by 12 hours for all of them; what then happens is decided elsewhere.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  parseSession,
  sessionKey,
  sessionStartMs,
  sessionUtc,
  type Session,
} from "../../src/market/session.ts";
import type { Publication } from "../../src/snapshot/publication-log.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { chipboardEnv } from "../bench/program.ts";
import { RedisServer } from "../contract/redis-server.ts";
import { catalogCsv } from "../property/published.ts";
import type { RawLevel } from "../property/naive-levels.ts";
import { AnswerBook } from "./soak-answers.ts";
import { Callers } from "./soak-callers.ts";
import { Draws } from "./soak-draws.ts";
import { Load } from "./soak-load.ts";
import { quotesCsv, SoakMarket, type MarketState } from "./soak-market.ts";
import type { StorePlace } from "./soak-place.ts";
import { requireCode, runChipboard, type Ran } from "./soak-program.ts";
import { SoakProxy } from "./soak-proxy.ts";
import { LOAD_ROUTES } from "./soak-routes.ts";
import { SoakTime } from "./soak-time.ts";

const PROXIES = 4;
const POLL = "200ms";
export const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export class SoakLife {
  readonly draws: Draws;
  readonly time: SoakTime;
  readonly market: SoakMarket;
  readonly callers: Callers;
  readonly proxies: readonly SoakProxy[];
  readonly load: Load;
  readonly store: ObjectStore;
  readonly redis: RedisServer;
  /** What a snapshot, by its name, was made of. */
  readonly states = new Map<string, MarketState>();
  /** The log as last seen, and how long it must be now. */
  log: readonly Publication[] = [];
  publications = 0;
  session: Session;
  /** The feed of the session. */
  quotes: readonly RawLevel[] = [];
  /** How long the last publish took. */
  publishMs = 1_000;
  readonly #place: StorePlace;
  readonly #folder: string;

  private constructor(
    folder: string,
    place: StorePlace,
    redis: RedisServer,
    seed: number,
    first: Session,
  ) {
    this.#folder = folder;
    this.#place = place;
    this.store = place.store;
    this.redis = redis;
    this.session = first;
    this.draws = new Draws(seed);
    this.time = new SoakTime(sessionStartMs(first) - 3 * HOUR_MS);
    this.market = new SoakMarket(sessionStartMs(first), this.draws);
    this.callers = new Callers((args) => this.command([...args, ...this.#stateArgs()]));
    const serving = ["--poll", POLL, "--trust-proxy", "1", "--log-requests", "none"];
    const args = [...place.args, ...this.#stateArgs(), ...serving, "--log-level", "error"];
    this.proxies = Array.from(
      { length: PROXIES },
      (_, at) => new SoakProxy(`proxy ${at + 1}`, args),
    );
    this.load = new Load({
      proxies: this.proxies,
      callers: () => this.callers.all,
      routes: () => LOAD_ROUTES,
      book: new AnswerBook(place.store),
      time: this.time,
      // Of its own: how many requests there are depends on the machine.
      draws: new Draws(seed ^ 0x5eed),
    });
  }

  /** Begins three hours before the first session, with accounts and keys. Throws without Redis. */
  static async begin(
    folder: string,
    place: StorePlace,
    seed: number,
    first: Session,
    trialDays: number,
  ): Promise<SoakLife> {
    const redis = await RedisServer.start();
    if (redis === null) throw new Error("A soak needs redis-server (see test/services/install)");
    process.once("exit", () => killed(redis));
    mkdirSync(folder, { recursive: true });
    const life = new SoakLife(folder, place, redis, seed, first);
    await life.callers.addAccounts(trialDays);
    const lapsesAtMs = life.time.nowMs() + trialDays * 24 * HOUR_MS;
    for (const account of ["small", "small", "large", "large", "large"] as const) {
      await life.callers.createKey(account);
    }
    await life.callers.createKey("trial", { atMs: lapsesAtMs, verdict: "trial_lapsed" });
    return life;
  }

  /** Starts the proxies, once there is something to serve. */
  async startProxies(): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.start(this.env())));
    await this.load.greet();
    this.load.resume();
  }

  /** Puts everybody's time forward, to so long after the beginning of a session. */
  async passTo(session: Session, sinceMs: number): Promise<void> {
    await this.load.pause();
    const month = this.time.month();
    const stepMs = this.time.stepTo(sessionStartMs(session) + sinceMs);
    this.session = session;
    await Promise.all(this.proxies.filter(({ isUp }) => isUp).map((proxy) => proxy.step(stepMs)));
    if (this.time.month() !== month) this.callers.startMonth();
    this.callers.passTo(this.time.nowMs());
    await this.load.greet();
    this.load.resume();
  }

  /** The environment of a process that starts now. */
  env(): Record<string, string> {
    return { ...chipboardEnv(this.time.iso()), ...this.#place.env };
  }

  /** Runs `chipboard` at the soak's time. */
  command(args: readonly string[], killAfterMs: number | null = null): Promise<Ran> {
    return runChipboard(args, this.env(), killAfterMs);
  }

  /** Runs `chipboard snapshots …` on the store. */
  desk(...args: readonly string[]): Promise<Ran> {
    return this.command(["snapshots", ...args, ...this.#place.args]);
  }

  /** Draws the session's feed and writes it to a file. */
  drawFeed(): string {
    this.quotes = this.market.drawQuotes(sessionUtc(this.session));
    return this.feedFile("quotes.csv", quotesCsv(this.quotes));
  }

  /** Writes a feed, and returns its path. */
  feedFile(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text);
    return path;
  }

  /** Runs a publish of the session from a file of quotes. */
  publish(
    quotes: string,
    more: readonly string[] = [],
    killAfterMs: number | null = null,
  ): Promise<Ran> {
    const session = ["--session", sessionKey(this.session), "--json"];
    const args = ["publish", ...this.#place.args, "--quotes", quotes, ...session, ...more];
    return this.command(args, killAfterMs);
  }

  /** The very first publication: the catalog, a year of closes, and the session's feed. */
  async publishFirst(): Promise<void> {
    const catalog = this.feedFile("catalog.csv", catalogCsv(this.market.contracts));
    const closes = this.feedFile("closes.csv", this.market.closesCsv());
    const ran = await this.publish(this.drawFeed(), ["--catalog", catalog, "--closes", closes]);
    requireCode(ran, "The first publish", 0);
    this.adopt(ran, () => this.market.accept(this.quotes));
  }

  /**
   * A publish has ended well: the log is one entry longer, and its snapshot holds the market after
   * `take`, which gets the snapshot's name.
   */
  adopt(ran: Ran, take: (snapshot: string) => void): string {
    const { snapshot } = JSON.parse(ran.stdout) as { snapshot: string };
    take(snapshot);
    this.states.set(snapshot, this.market.state);
    this.publications += 1;
    return snapshot;
  }

  async close(): Promise<void> {
    await this.load.close();
    for (const proxy of this.proxies) if (proxy.isUp) await proxy.end("SIGTERM");
    await this.redis.remove();
    await this.store.close();
  }

  #stateArgs(): string[] {
    return ["--state", `redis://127.0.0.1:${this.redis.port}/0`];
  }
}

/** On the way out; it may have ended by itself. */
function killed({ pid }: RedisServer): void {
  try {
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  } catch {
    // It is gone, which is what was wanted.
  }
}

/** The session of a text such as `2026-12-01T00Z`. */
export function sessionOf(text: string): Session {
  const session = parseSession(text);
  if (session === null) throw new Error(`${text} is no session`);
  return session;
}
