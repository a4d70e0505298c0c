/**
 * A publisher's month: a store, a Redis, three proxies under load, a market. Each session puts the
 * time forward by 12 hours for all of them; soak-faults.ts has the events of a session.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClock } from "../../src/lib/clock.ts";
import { sessionKey, sessionStartMs, sessionUtc, type Session } from "../../src/market/session.ts";
import { TIERS, type TierName } from "../../src/market/tier.ts";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import { newKeyPair, parseVerifyKeys, type VerifyKey } from "../../src/snapshot/signing-key.ts";
import { withRegistry } from "../../src/state/open.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { RedisServer } from "../../test/services/redis-server.ts";
import type { RawLevel } from "../../test/property/naive-levels.ts";
import { catalogCsv } from "../../test/property/published.ts";
import { chipboard, environment, type Ran, type RunOptions } from "../../test/program/program.ts";
import { AnswerBook } from "./soak-answers.ts";
import { Draws } from "./soak-draws.ts";
import { Load, type Caller } from "./soak-load.ts";
import { quotesCsv, SoakMarket, type MarketState } from "./soak-market.ts";
import { SoakProxy } from "./soak-proxy.ts";
import { SoakTime } from "./soak-time.ts";

const PROXIES = 3;
const HOUR_MS = 3_600_000;
const ACCOUNTS = { small: "starter", large: "pro" } as const;

export class SoakLife {
  readonly draws: Draws;
  readonly time: SoakTime;
  readonly market: SoakMarket;
  readonly callers: readonly Caller[];
  readonly proxies: readonly SoakProxy[];
  readonly load: Load;
  readonly store: FolderStore;
  readonly redis: RedisServer;
  /** The market that a snapshot was made of, by the snapshot's name. */
  readonly states = new Map<string, MarketState>();
  /** The publications at the last check, and how many there must be now. */
  log: readonly Publication[] = [];
  publications = 0;
  session: Session;
  /** The feed of the session. */
  quotes: readonly RawLevel[] = [];
  publishMs = 1_000;
  /** The public key that everything published is signed for. */
  readonly verifyKeys: readonly VerifyKey[];
  readonly #folder: string;
  readonly #place: string;
  /** Options: for all who trust the key, and for those who hold it. */
  readonly #trusting: readonly string[];
  readonly #signing: readonly string[];

  private constructor(
    folder: string,
    seed: number,
    first: Session,
    redis: RedisServer,
    keys: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#place = join(folder, "snapshots");
    this.store = new FolderStore(this.#place);
    const { privatePem, publicPem } = newKeyPair();
    this.verifyKeys = parseVerifyKeys(publicPem, "the soak's key");
    this.#trusting = ["--verify-key", this.file("signing.pem.pub", publicPem)];
    this.#signing = ["--sign-key", this.file("signing.pem", privatePem), ...this.#trusting];
    this.redis = redis;
    this.session = first;
    this.draws = new Draws(seed);
    this.time = new SoakTime(sessionStartMs(first) - 3 * HOUR_MS);
    this.market = new SoakMarket(sessionStartMs(first), this.draws);
    const caller = (name: string, tier: TierName, key: string | null): Caller => {
      return { name, tier, key, limit: TIERS[tier].callsPerMonth, answered: 0, uncertain: 0 };
    };
    this.callers = [
      caller("198.51.100.1", "free", null),
      ...Object.entries(ACCOUNTS).map(([name, tier]) => caller(name, tier, keys[name] as string)),
    ];
    const serving = [
      ...this.#trusting,
      "--poll",
      "200ms",
      "--trust-proxy",
      "1",
      "--log-requests",
      "none",
    ];
    const args = ["--store", this.#place, "--state", stateAt(redis), ...serving];
    this.proxies = Array.from(
      { length: PROXIES },
      (_, at) => new SoakProxy(`proxy ${at + 1}`, [...args, "--log-level", "error"]),
    );
    const { proxies, callers, time } = this;
    // The load has its own random choices: the number of requests depends on the machine.
    const draws = new Draws(seed ^ 0x5eed);
    const book = new AnswerBook(this.store, this.verifyKeys);
    // A caller without a key has few calls per month, and the checks need them.
    const loading = callers.filter(({ key }) => key !== null);
    this.load = new Load({ proxies, callers: loading, time, draws, book });
  }

  /** Begins three hours before the first session, with accounts and keys. Throws without Redis. */
  static async begin(folder: string, seed: number, first: Session): Promise<SoakLife> {
    const redis = await RedisServer.start();
    if (redis === null) throw new Error("A soak needs redis-server (see test/services/install)");
    process.once("exit", () => killed(redis));
    mkdirSync(folder, { recursive: true });
    const clock = createClock(new Date(sessionStartMs(first) - 4 * HOUR_MS).toISOString());
    const keys: Record<string, string> = {};
    await withRegistry(stateAt(redis), clock, "create", async (registry) => {
      for (const [name, tier] of Object.entries(ACCOUNTS)) {
        await registry.addAccount(name, tier, null);
        keys[name] = (await registry.createKey(name, null)).key;
      }
    });
    return new SoakLife(folder, seed, first, redis, keys);
  }

  /** Starts the proxies. There must be a publication. */
  async startProxies(): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.start(this.env())));
    await this.load.greet();
    this.load.resume();
  }

  /** Puts the time forward for all processes, to `sinceMs` after the start of the session. */
  async passTo(session: Session, sinceMs: number): Promise<void> {
    await this.load.pause();
    const month = this.time.month();
    const stepMs = this.time.stepTo(sessionStartMs(session) + sinceMs);
    this.session = session;
    await Promise.all(this.proxies.filter(({ isUp }) => isUp).map((proxy) => proxy.step(stepMs)));
    if (this.time.month() !== month) {
      for (const caller of this.callers) Object.assign(caller, { answered: 0, uncertain: 0 });
    }
    await this.load.greet();
    this.load.resume();
  }

  /** The environment for a process that starts now. */
  env(): Record<string, string> {
    return environment(this.time.iso());
  }

  /** Runs `chipboard snapshots …` on the store, with the keys. */
  desk(...args: readonly string[]): Promise<Ran> {
    const keys = args[0] === "verify" ? this.#trusting : this.#signing;
    return chipboard(["snapshots", ...args, "--store", this.#place, ...keys], { env: this.env() });
  }

  /** Draws the session's feed and writes it to a file. */
  drawFeed(): string {
    this.quotes = this.market.drawQuotes(sessionUtc(this.session));
    return this.file("quotes.csv", quotesCsv(this.quotes));
  }

  /** Writes a file that only its owner reads, and returns its path. */
  file(name: string, text: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Publishes the session from a file of quotes. */
  publish(
    quotes: string,
    more: readonly string[] = [],
    options: Pick<RunOptions, "killAfterMs"> = {},
  ): Promise<Ran> {
    const session = ["--session", sessionKey(this.session), "--json"];
    const args = ["publish", "--store", this.#place, "--quotes", quotes, ...session, ...more];
    return chipboard([...args, ...this.#signing], { ...options, env: this.env() });
  }

  /** Publishes the catalog, a year of closes, and the first session's feed. */
  async publishFirst(): Promise<void> {
    const catalog = this.file("catalog.csv", catalogCsv(this.market.contracts));
    const closes = this.file("closes.csv", this.market.closesCsv());
    const ran = await this.publish(this.drawFeed(), ["--catalog", catalog, "--closes", closes]);
    requireCode(ran, "The first publish", 0);
    this.adopt(ran, () => this.market.accept(this.quotes));
  }

  /**
   * Call after a successful publish: the log must be one entry longer, and the snapshot must hold the
   * market after `take`, which gets the snapshot's name and the entry's number.
   */
  adopt(ran: Ran, take: (snapshot: string, number: number) => void): void {
    const ended = JSON.parse(ran.stdout) as { snapshot: string; publication: number };
    const { snapshot } = ended;
    take(snapshot, ended.publication);
    this.states.set(snapshot, this.market.state);
    this.publications += 1;
  }

  async close(): Promise<void> {
    await this.load.close();
    for (const proxy of this.proxies) if (proxy.isUp) await proxy.end("SIGTERM");
    await this.redis.remove();
  }
}

/** Throws unless the run ended with one of these exit codes. */
export function requireCode(ran: Ran, what: string, ...codes: (number | null)[]): void {
  if (codes.includes(ran.code)) return;
  throw new Error(`${what} ended with ${ran.code}, expected ${codes.join(" or ")}: ${ran.stderr}`);
}

const stateAt = ({ port }: RedisServer): string => `redis://127.0.0.1:${port}/0`;

/** Kills the server on exit; it may have ended already. */
function killed({ pid }: RedisServer): void {
  try {
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
