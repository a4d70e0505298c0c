/**
 * A proxy in a process of its own, over a catalog of 10,000 contracts, and the tools for agents over it. Its parent asks
 * it by messages how much processor time it has used: of all its threads, in milliseconds; or to run a loop, by which
 * the machine's speed is known.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dateText, dayOf, sessionUtc } from "../../src/market/session.ts";
import { TIERS } from "../../src/market/tier.ts";
import { publishMoves } from "../store/publish-moves.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { SESSION, startTestProxy, TestClock } from "../http/fixture.ts";
import { mcpHttpServer } from "../../src/mcp/http.ts";
import { listen } from "../../src/hosts/node/server.ts";
import { openAccounts } from "../../src/state/open.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

/** What the parent gets first. */
export interface CostService {
  readonly url: string;
  /** Of the tools for agents. */
  readonly tools: string;
  readonly starter: string;
  readonly pro: string;
  /** The key of a Starter that has used all its calls. */
  readonly spent: string;
  /** A contract with levels, and ids that no contract has but that are like all others. */
  readonly id: string;
  readonly unknown: readonly string[];
  /** Names that no segment has but that are like all others. */
  readonly unknownSegments: readonly string[];
  /** Ids of contracts without levels. */
  readonly unpriced: readonly string[];
  /** The manifest of the snapshot served, of which tags are made. */
  readonly manifestSha256: string;
}

const LOOP = 1_500_000;
const CONTRACTS = 10_000;
const DAYS = 1_500;
/** These have levels; the others stand in the catalog alone, which is what unknown ids are compared with. */
const PRICED = 40;
/** As long as the ids of some markets, and alike. */
const costId = (at: number): string =>
  `a-contract-whose-id-is-as-long-as-those-of-markets-${String(at).padStart(5, "0")}`;

/** Of the contracts without levels some have segments of their own, whose names are as long and alike. */
const segmentAt = (at: number): string =>
  at < CONTRACTS - SEGMENTS ? "DRAM" : costId(at).replace("contract", "SEGMENT");
const SEGMENTS = 400;

const csv = (name: string, lines: readonly string[]) => ({
  name,
  format: "csv" as const,
  open: async function* () {
    yield Buffer.from(`${lines.join("\n")}\n`);
  },
});

async function store(): Promise<MemoryStore> {
  const made = new MemoryStore();
  const ids = Array.from({ length: CONTRACTS }, (_, at) => costId(at));
  const priced = ids.slice(0, PRICED);
  const today = dayOf(SESSION);
  const days = Array.from({ length: DAYS }, (_, at) => today - DAYS + at);
  const levelOf = (at: number, day: number): string => (10 + at + (day % 97) / 8).toFixed(3);
  await publishMoves(
    {
      ...USUAL_REQUEST,
      catalog: csv("catalog.csv", [
        "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,formerly",
        ...ids.map(
          (id, at) =>
            `${id},T${at},Name ${at},memory,${segmentAt(at)},USD per piece,45,Source,https://example.com/${at},old-${id} older-${id}`,
        ),
      ]),
      quotes: [
        csv("quotes.csv", [
          "id,session_utc,spot_usd",
          ...priced.map((id, at) => `${id},${sessionUtc(SESSION)},${levelOf(at, today)}`),
        ]),
      ],
      closes: [
        csv("closes.csv", [
          "id,date,close_usd",
          ...priced.flatMap((id, at) =>
            days.map((day) => `${id},${dateText(day)},${levelOf(at, day)}`),
          ),
        ]),
      ],
      session: SESSION,
      attribution: "Test levels, not market data",
      keys: NO_KEYS,
      gates: {
        maxMoveMicros: 1_000_000_000,
        maxIndexMoveMicros: 25_000_000,
        maxBoardMoveMicros: 15_000_000,
        minCoverageMicros: 0,
        maxUnchangedSessions: 8,
        maxGapSessions: 1_000,
        maxCarryDays: 45,
        acceptMoves: true,
        allowSparse: true,
      },
    },
    made,
    new TestClock(),
    () => {},
  );
  return made;
}

const published = await store();
const state = mkdtempSync(join(tmpdir(), "chipboard-cost-"));
process.on("exit", () => rmSync(state, { recursive: true, force: true }));
const proxy = await startTestProxy({
  state,
  store: published,
  // The address of each request is the caller's own choice, so that its quota is never spent.
  trustedHops: 1,
  pollMs: 3_600_000,
  cacheBytes: 256_000_000,
});
const agents = mcpHttpServer(proxy.url, [], () => {}, 1);
const tools = `${await listen(agents, "--http", "127.0.0.1", 0)}/mcp`;
process.on("message", (asked) => {
  if (asked === "loop") loop();
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1_000);
});
/** Takes about ten milliseconds: twice the budget of a request, because processor time is read coarsely. */
function loop(): void {
  let sum = 1;
  for (let at = 0; at < LOOP; at += 1) sum = (sum * 31 + at) | 0;
  if (sum === 0) throw new Error("The loop has another result");
}
process.on("disconnect", () => process.exit(0));
const { url, starter, pro, registry, clock } = proxy;
const { account_id: id } = await registry.addAccount("spent", "starter", null);
const { key: spent } = await registry.createKey("spent", null);
const accounts = await openAccounts(state, clock);
const limit = TIERS.starter.callsPerMonth as number;
const take = async (): Promise<unknown> =>
  accounts.counts.take(`account:${id}`, limit, clock.now());
await Promise.all(Array.from({ length: limit }, take));
await accounts.close();
const unknown = Array.from({ length: 100 }, (_, at) =>
  costId(at).replace("as-long", `as-${10 + at}`),
);
const unknownSegments = unknown.map((id) => id.replace("contract", "SEGMENT"));
const unpriced = Array.from({ length: 500 }, (_, at) => costId(PRICED + at));
const entry = JSON.parse(String(await published.get(publicationKey(1)))) as {
  manifest_sha256: string;
};
const manifestSha256 = entry.manifest_sha256;
process.send?.({
  url,
  tools,
  starter,
  pro,
  spent,
  unknown,
  unknownSegments,
  unpriced,
  manifestSha256,
  id: costId(1),
} satisfies CostService);
