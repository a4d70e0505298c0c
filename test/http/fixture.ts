/** A small market, published by the real publisher, and a proxy on a real socket with real keys. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openAccounts } from "../../src/state/open.ts";
import { openRegistry, type OpenRegistry } from "../contract/open-registry.ts";
import type { GateLimits } from "../../src/feed/finding.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { parseMicros } from "../../src/market/decimal.ts";
import {
  dateText,
  dayOf,
  parseSession,
  SESSION_MS,
  sessionStartMs,
  sessionUtc,
  type Session,
} from "../../src/market/session.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../../src/market/tier.ts";
import type { ProxyOptions, RunningProxy } from "../../src/hosts/node/listen.ts";
import { createLogger } from "../../src/hosts/node/request-log.ts";
import type { World } from "../../src/core/world.ts";
import { startProxy } from "../../src/hosts/node/listen.ts";
import { NodeService } from "../../src/hosts/node/service.ts";
import { publishMoves } from "../store/publish-moves.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { call, callCore, type CallOptions, type Received } from "./client.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

export const SESSION = parseSession("2026-11-21T00Z") as Session;
export const ATTRIBUTION = "Test levels, not market data";

/** The first ten contracts are the free slice. */
export const FREE_IDS = Array.from({ length: 10 }, (_, at) => `dram-${at}`);
/** Not in the free slice. `chip-0` is on the semiconductor board. */
export const KEYED_IDS = ["nand-0", "nand-1", "chip-0"];
/** Contracts without a level; with an old one only; without one a year ago; with a break since then. */
export const NEVER = "never-priced";
export const DROPPED = "long-gone";
export const YOUNG = "just-listed";
export const BROKEN = "new-unit";
const PRICED = [...FREE_IDS, ...KEYED_IDS];
const LISTED = [...PRICED, NEVER, DROPPED, YOUNG, BROKEN];
export const DROPPED_AS_OF = dateText(dayOf(SESSION) - 200);

/** A clock that only a test moves. */
export class TestClock implements Clock {
  ms: number;

  constructor(ms: number = sessionStartMs(SESSION) + 5 * 60_000) {
    this.ms = ms;
  }

  now(): number {
    return this.ms;
  }
}

const sourceOf = (name: string, text: string) => ({
  name,
  format: "csv" as const,
  open: async function* () {
    yield Buffer.from(text);
  },
});

const GATES = {
  maxMoveMicros: parseMicros("50", 1_000_000) as number,
  maxIndexMoveMicros: 25_000_000,
  maxBoardMoveMicros: 15_000_000,
  minCoverageMicros: 0,
  maxUnchangedSessions: 8,
  maxGapSessions: 1_000,
  maxCarryDays: 45,
  acceptMoves: true,
  allowSparse: true,
};

export function catalogCsv(): string {
  const rows = LISTED.map((id, at) => {
    const board = id.startsWith("chip") ? "semiconductor" : "memory";
    const capacity = board === "memory" ? "2" : "";
    return `${id},T${at},Contract ${id},${board},DRAM,USD per piece,45,Some source,https://example.com/${id},${capacity}`;
  });
  const columns = "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb";
  return `${columns}\n${rows.join("\n")}\n`;
}

/** Two years of daily closes up to the day before `session`. */
function closesCsv(session: Session): string {
  const today = dayOf(session);
  const lines = ["id,date,close_usd,break"];
  for (let day = today - 730; day < today; day += 1) {
    for (const [at, id] of PRICED.entries()) {
      lines.push(`${id},${dateText(day)},${(10 + at + (day % 7) / 8).toFixed(3)},`);
    }
    if (day > today - 40) lines.push(`${YOUNG},${dateText(day)},3.5,`);
    const reason = day === today - 30 ? "Sold by the tray from now on" : "";
    lines.push(`${BROKEN},${dateText(day)},${day < today - 30 ? 2 : 20},${reason}`);
  }
  lines.push(`${DROPPED},${DROPPED_AS_OF},7.25,`);
  return `${lines.join("\n")}\n`;
}

/** Levels of one session for `ids`, based on `usd`. */
function quotesCsv(session: Session, usd: number, ids: readonly string[]): string {
  const rows = ids.map((id) => `${id},${sessionUtc(session)},${usd + PRICED.indexOf(id)}`);
  return `id,session_utc,spot_usd\n${rows.join("\n")}\n`;
}

const NO_LIMITS: Partial<GateLimits> = {};

/** Publishes a session; with `first`, also the catalog and two years of closes. */
export async function publishSession(
  store: ObjectStore,
  clock: Clock,
  session: Session,
  {
    first = false,
    hasCloses = null as boolean | null,
    usd = 11,
    ids = PRICED,
    revise = null as string | null,
    keys = NO_KEYS,
    limits = NO_LIMITS,
    attribution = ATTRIBUTION,
  } = {},
): Promise<PublishResult> {
  return publishMoves(
    {
      ...USUAL_REQUEST,
      catalog: first ? sourceOf("catalog.csv", catalogCsv()) : null,
      quotes: [sourceOf("quotes.csv", quotesCsv(session, usd, ids))],
      closes: (hasCloses ?? first) ? [sourceOf("closes.csv", closesCsv(session))] : [],
      session,
      attribution,
      revise,
      keys,
      gates: { ...GATES, ...limits },
    },
    store,
    clock,
    () => {},
  );
}

let published: Promise<MemoryStore> | undefined;

/** A store with SESSION; it is published once per test file, and copied for each caller. */
export async function publishedStore(): Promise<MemoryStore> {
  published ??= (async () => {
    const store = new MemoryStore();
    await publishSession(store, new TestClock(), SESSION, { first: true });
    return store;
  })();
  return copyOf(await published);
}

export async function copyOf(store: ObjectStore): Promise<MemoryStore> {
  const copy = new MemoryStore();
  for await (const { key } of store.list("")) {
    await copy.create(key, (await store.get(key)) as Buffer);
  }
  return copy;
}

/** Each tier has its key. */
export interface TestProxy extends Readonly<Record<KeyTierName, string>> {
  readonly url: string;
  readonly metricsUrl: string;
  /** What its answers come from. */
  readonly world: World;
  readonly clock: TestClock;
  readonly store: ObjectStore;
  readonly registry: OpenRegistry;
  /** NDJSON lines of the log so far. */
  readonly logged: string[];
  get(path: string, options?: CallOptions): Promise<Received>;
  close(): Promise<void>;
}

export interface TestProxyOptions extends Partial<Omit<ProxyOptions, "clock" | "accounts">> {
  readonly clock?: TestClock;
  /** redis://… or a folder; by default a new folder. It may belong to an earlier proxy. */
  readonly state?: string;
}

/** The accounts whose names tests know. The account of any other tier has the tier's name. */
const ACCOUNTS: { readonly [T in KeyTierName]?: string } = { starter: "small", pro: "large" };

/** Starts a proxy over a fresh SQLite state with one account and a new key of each paid tier. */
export async function startTestProxy(options: TestProxyOptions = {}): Promise<TestProxy> {
  return startOver(options, async (settings) => {
    const proxy: RunningProxy = await startProxy(settings);
    return {
      url: proxy.url,
      metricsUrl: proxy.metricsUrl as string,
      world: proxy.world,
      get: (path, callOptions) => call(proxy.url + path, callOptions),
      close: () => proxy.close(),
    };
  });
}

/** The same without a socket: the core is asked directly. */
export async function startTestCore(options: TestProxyOptions = {}): Promise<TestProxy> {
  return startOver(options, async (settings) => {
    const url = "http://127.0.0.1:8080";
    const service = new NodeService({
      ...settings,
      backlog: { bytes: 0, closed: 0 },
      certificateEndMs: () => 0,
    });
    const world = (await service.start())(url);
    return {
      url,
      metricsUrl: "",
      world,
      get: (path, callOptions) => callCore(world, url, path, callOptions),
      close: async () => service.close(),
    };
  });
}

/** Starts a mouth over a state with one account and a new key of each paid tier. */
export async function startOver(
  options: TestProxyOptions,
  start: (
    settings: ProxyOptions,
  ) => Promise<Pick<TestProxy, "url" | "metricsUrl" | "world" | "get" | "close">>,
): Promise<TestProxy> {
  const clock = options.clock ?? new TestClock();
  const store = options.store ?? (await publishedStore());
  const folder = await mkdtemp(join(tmpdir(), "chipboard-http-"));
  const state = options.state ?? folder;
  const registry = await openRegistry(state, clock, "create");
  const isNew = (await registry.accounts()).length === 0;
  const keys: Partial<Record<KeyTierName, string>> = {};
  for (const tier of KEY_TIER_NAMES) {
    const account = ACCOUNTS[tier] ?? tier;
    if (isNew) await registry.addAccount(account, tier, null);
    keys[tier] = (await registry.createKey(account, null)).key;
  }
  const accounts = await openAccounts(state, clock);
  const logged: string[] = [];
  const log = createLogger({ level: "info", requests: "all", problemsPerSecond: Infinity }, clock, {
    write: (line) => logged.push(line),
    droppedLines: 0,
  });
  const { close, ...mouth } = await start({
    log,
    host: "127.0.0.1",
    port: 0,
    metricsPort: 0,
    metricsHost: "127.0.0.1",
    socket: null,
    pollMs: 50,
    graceMs: 3_600_000,
    trustedHops: 0,
    maxConnections: 10_000,
    maxConnectionsPerAddress: 10_000,
    tls: null,
    cacheBytes: 64_000_000,
    ...options,
    store,
    accounts,
    clock,
  });
  return {
    ...mouth,
    clock,
    store,
    registry,
    ...(keys as Record<KeyTierName, string>),
    logged,
    async close() {
      await close();
      await accounts.close();
      await registry.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The snapshot that a proxy serves now. */
export const snapshotOf = async (proxy: TestProxy): Promise<unknown> =>
  (await proxy.get("/api/public/v1/prices")).headers["x-snapshot"];

/** Polls until `check` returns true. */
export async function eventually(check: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 300_000; performance.now() < deadline;) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("The condition was not met within 5 minutes");
}

/** How far a session is from SESSION, in milliseconds. */
export const sessionsMs = (sessions: number): number => sessions * SESSION_MS;
