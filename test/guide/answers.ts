/**
 * The answers in the guide, from a real proxy that serves a market of three contracts. `node
 * test/guide/record.ts` records them for the guide; the test compares them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openGatekeeper, openRegistry } from "../../src/state/open.ts";
import { createClock } from "../../src/lib/clock.ts";
import { parseMicros } from "../../src/market/decimal.ts";
import { parseSession, type Session } from "../../src/market/session.ts";
import { createLogger } from "../../src/proxy/ops/log.ts";
import { startProxy } from "../../src/proxy/serve.ts";
import { publish } from "../../src/publish/publish.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";

export interface Example {
  /** `GET /api/public/v1/prices` */
  readonly request: string;
  /** The tier of the key that is sent; null: no key. */
  readonly tier: "starter" | "pro" | null;
  readonly status: number;
  readonly body: string;
}

const API = "/api/public/v1";
const REQUESTS: readonly (readonly [path: string, tier: Example["tier"]])[] = [
  [`${API}/prices`, null],
  [`${API}/prices/ddr5-16gb`, "pro"],
  [`${API}/index`, "pro"],
  [`${API}/index?ids=ddr5-16gb,tlc-1tb&weights=60,40`, "pro"],
  [`${API}/export.csv`, "pro"],
  [`${API}/usage`, "starter"],
  [`${API}/index`, null],
  [`${API}/index?ids=ddr5-16gb,ddr6&weights=60,0`, "pro"],
];

const CATALOG = `id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb
ddr5-16gb,D5,DDR5 16Gb,memory,DRAM,USD per chip,45,Example,https://example.com/d5,2
tlc-1tb,S1,TLC SSD 1TB,memory,SSD,USD per drive,20,Example,https://example.com/s1,1000
n3-wafer,N3,3 nm wafer,semiconductor,Foundry,USD per wafer,70,Example,https://example.com/n3,
`;
const CLOSES = `id,date,close_usd
ddr5-16gb,2025-11-20,2.00
ddr5-16gb,2026-10-21,2.40
ddr5-16gb,2026-11-19,2.90
ddr5-16gb,2026-11-20,2.95
tlc-1tb,2025-11-20,80
tlc-1tb,2026-10-21,64
tlc-1tb,2026-11-19,61.20
tlc-1tb,2026-11-20,60
n3-wafer,2025-11-20,10000
n3-wafer,2026-10-21,10800
n3-wafer,2026-11-19,11000
`;
const QUOTES = `id,spot_usd
ddr5-16gb,3.00
n3-wafer,11000
`;

const source = (name: string, text: string) => ({
  name,
  format: "csv" as const,
  open: async function* () {
    yield Buffer.from(text);
  },
});

/** Requests all of them. */
export async function askAll(): Promise<Example[]> {
  const clock = createClock("2026-11-21T00:05:00Z");
  const still = { now: () => Date.parse("2026-11-21T00:05:00Z") };
  const folder = await mkdtemp(join(tmpdir(), "chipboard-guide-"));
  const store = new MemoryStore();
  const request = {
    catalog: source("catalog.csv", CATALOG),
    quotes: [source("quotes.csv", QUOTES)],
    closes: [source("closes.csv", CLOSES)],
    session: parseSession("2026-11-21T00Z") as Session,
    attribution: "Example data, made up for this page",
    revise: null,
    dryRun: false,
    gates: {
      maxMoveMicros: parseMicros("50", 1_000_000) as number,
      minCoverageMicros: 0,
      maxCarryDays: 45,
      acceptMoves: true,
      allowSparse: true,
    },
  };
  await publish(request, store, still, () => {});
  const registry = await openRegistry(folder, clock, "change");
  const keys = { starter: "", pro: "" };
  for (const tier of ["starter", "pro"] as const) {
    await registry.addAccount(`${tier}-account`, tier, null);
    keys[tier] = (await registry.createKey(`${tier}-account`, null)).key;
  }
  await registry.close();
  const gatekeeper = await openGatekeeper(folder, clock);
  const proxy = await startProxy({
    store,
    gatekeeper,
    clock,
    log: createLogger({ level: "silent", requests: "none" }, clock),
    host: "127.0.0.1",
    port: 0,
    metricsPort: null,
    pollMs: 60_000,
    graceMs: 3_600_000,
    trustedHops: 0,
    maxConnections: 10_000,
    tls: null,
    cacheBytes: 1e8,
  });
  try {
    const examples: Example[] = [];
    for (const [path, tier] of REQUESTS) {
      const headers: Record<string, string> = tier === null ? {} : { "x-api-key": keys[tier] };
      const answer = await fetch(proxy.url + path, { headers });
      const { status } = answer;
      examples.push({ request: `GET ${path}`, tier, status, body: await answer.text() });
    }
    return examples;
  } finally {
    await proxy.close();
    await gatekeeper.close();
    await rm(folder, { recursive: true, force: true });
  }
}
