/** A real proxy that serves a market of three contracts, for the answers in the documentation. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClock, type Clock } from "../../src/lib/clock.ts";
import { parseMicros } from "../../src/market/decimal.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../../src/market/tier.ts";
import { createLogger } from "../../src/hosts/node/request-log.ts";
import { startProxy, type ProxyOptions, type RunningProxy } from "../../src/hosts/node/listen.ts";
import { publishMoves } from "../store/publish-moves.ts";
import { USUAL_REQUEST, type PublishRequest } from "../../src/publish/request.ts";
import type { StateAccounts } from "../../src/state/state-accounts.ts";
import { openAccounts } from "../../src/state/open.ts";
import { openRegistry } from "../contract/open-registry.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";

export const API = "/api/public/v1";
export const SESSION = parseSession("2026-11-21T00Z") as Session;
const NOW = "2026-11-21T00:05:00Z";
const PUBLISHED = { now: () => Date.parse(NOW) };
const DAY_MS = 86_400_000;

const CATALOG = `id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb
ddr5-16gb,D5,DDR5 16Gb,memory,DRAM,USD per chip,45,Example,https://example.com/d5,2
tlc-1tb,S1,TLC SSD 1TB,memory,SSD,USD per drive,20,Example,https://example.com/s1,1000
n3-wafer,N3,3 nm wafer,semiconductor,Foundry,USD per wafer,70,Example,https://example.com/n3,
`;
const CLOSES = `id,date,close_usd
ddr5-16gb,2025-11-20,2.00
ddr5-16gb,2026-10-21,2.40
ddr5-16gb,2026-11-19,2.90
ddr5-16gb,2026-11-20,2.94
tlc-1tb,2025-11-20,80
tlc-1tb,2026-10-21,64
tlc-1tb,2026-11-19,61.20
tlc-1tb,2026-11-20,60
n3-wafer,2025-11-20,10000
n3-wafer,2026-10-21,10800
n3-wafer,2026-11-19,11000
`;
const RESTATED = `id,date,close_usd
ddr5-16gb,2026-11-20,2.95
`;
const QUOTES = `id,spot_usd,low_usd,high_usd,inputs,rationale
ddr5-16gb,3.00,2.95,3.10,12,Middle of the bids of the last hour
n3-wafer,11000,,,,
`;

export interface Example {
  /** `GET /api/public/v1/prices` */
  readonly request: string;
  /** The tier of the key that is sent; null: no key. */
  readonly tier: KeyTierName | null;
  readonly status: number;
  readonly body: string;
}

/** A proxy with its state, and the means to break it. */
export interface ExampleService {
  readonly url: string;
  /** Of accounts of these tiers; of accounts that are refused; and one that nobody has sent yet. */
  readonly keys: Readonly<Record<KeyTierName | "suspended" | "lapsed" | "unseen", string>>;
  readonly accounts: StateAccounts;
  readonly clock: Clock;
  /** The folder. */
  readonly state: string;
  /** Another proxy with the same state; returns its address. */
  serve(store: ObjectStore, more?: Partial<ProxyOptions>): Promise<string>;
  close(): Promise<void>;
}

/** Publishes the market, with the daily closes of a year or without. */
export const publishExample = (store: ObjectStore, hasCloses: boolean): Promise<void> =>
  publishInputs(store, {
    catalog: source("catalog.csv", CATALOG),
    quotes: [source("quotes.csv", QUOTES)],
    closes: hasCloses ? [source("closes.csv", CLOSES)] : [],
    attribution: "Example data, made up for this page",
  });

/** Publishes a correction of a close. */
export const reviseExample = (store: ObjectStore): Promise<void> =>
  publishInputs(store, {
    closes: [source("closes.csv", RESTATED)],
    revise: "The source restated the close",
  });

type Inputs = Partial<
  Pick<PublishRequest, "catalog" | "quotes" | "closes" | "attribution" | "revise">
>;

async function publishInputs(store: ObjectStore, inputs: Inputs): Promise<void> {
  const request = {
    ...USUAL_REQUEST,
    ...inputs,
    session: SESSION,
    gates: {
      maxMoveMicros: parseMicros("50", 1_000_000) as number,
      maxIndexMoveMicros: 25_000_000,
      maxBoardMoveMicros: 15_000_000,
      minCoverageMicros: 0,
      maxUnchangedSessions: 8,
      maxGapSessions: 14,
      maxCarryDays: 45,
      acceptMoves: true,
      allowSparse: true,
    },
  };
  await publishMoves(request, store, PUBLISHED, () => {});
}

export async function startExampleService(): Promise<ExampleService> {
  const clock = createClock(NOW);
  const state = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
  const keys = await makeKeys(state, clock);
  const accounts = await openAccounts(state, clock);
  const proxies: RunningProxy[] = [];
  const serve: ExampleService["serve"] = async (store, more = {}) => {
    const proxy = await startProxy({
      store,
      accounts,
      clock,
      log: createLogger({ level: "silent", requests: "none" }, clock),
      host: "127.0.0.1",
      port: 0,
      metricsPort: null,
      metricsHost: "127.0.0.1",
      socket: null,
      pollMs: 60_000,
      graceMs: 3_600_000,
      trustedHops: 0,
      maxConnections: 10_000,
      maxConnectionsPerAddress: 10_000,
      tls: null,
      cacheBytes: 1e8,
      ...more,
    });
    proxies.push(proxy);
    return proxy.url;
  };
  const store = new MemoryStore();
  await publishExample(store, true);
  await reviseExample(store);
  return {
    url: await serve(store),
    keys,
    accounts,
    clock,
    state,
    serve,
    async close() {
      for (const proxy of proxies) await proxy.close();
      await accounts.close();
      await rm(state, { recursive: true, force: true });
    },
  };
}

async function makeKeys(state: string, clock: Clock): Promise<ExampleService["keys"]> {
  // Two days ago, so that a trial of a day has lapsed.
  const registry = await openRegistry(state, { now: () => clock.now() - 2 * DAY_MS }, "create");
  const keyOf = async (account: string, tier: KeyTierName, trialDays: number | null) => {
    await registry.addAccount(account, tier, trialDays);
    return (await registry.createKey(account, null)).key;
  };
  const keys: Partial<Record<KeyTierName, string>> = {};
  for (const tier of KEY_TIER_NAMES) keys[tier] = await keyOf(`${tier}-account`, tier, null);
  const all = {
    ...(keys as Record<KeyTierName, string>),
    suspended: await keyOf("suspended-account", "pro", null),
    lapsed: await keyOf("trial-account", "pro", 1),
    unseen: (await registry.createKey("pro-account", null)).key,
  };
  await registry.setAccount("suspended-account", { suspended: true });
  await registry.close();
  return all;
}

const source = (name: string, text: string) => ({
  name,
  format: "csv" as const,
  open: async function* () {
    yield Buffer.from(text);
  },
});
