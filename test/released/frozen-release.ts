/**
 * A small store as this version of the program writes it, by its commands: a signed log with a restatement, corrections,
 * a rollback and a prune; at last a contract that is renamed, one with a break, one that is delisted. And a state: accounts
 * that were changed, keys that were rotated and revoked, a link.
 */
import { readdir, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { dataPaths } from "../http/addresses.ts";
import { outputOf, serve } from "../program/program.ts";

/** What a release folder has. */
export const FILES = {
  store: "store",
  publicKey: "signing.pub",
  answers: "answers.ndjson",
  state: "state",
  keys: "keys.json",
} as const;
/** When its answers are asked for: ten minutes after the last entry. */
export const ASKED_AT = "2026-11-21T00:15:00Z";

const COLUMNS =
  "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb,free,price_type,delisted_on,formerly,cadence_days";
const NOR =
  "nor-old,NOR,NOR 128Mb,memory,NOR,USD per chip,0,Source B,https://example.com/nor,0.016,true,contract";
const WAFER =
  'n3-wafer,N3,"Wafer 300 mm, 3 nm",semiconductor,Foundry,USD per wafer,70,Source A,https://example.com/n3,,false,contract,,,30';
const GDDR7 =
  "gddr7-16gb,G7,GDDR7 16Gb,memory,DRAM,USD per chip,60,Source A,https://example.com/g7,2,false,contract,,,30";
const QUOTES = "id,spot_usd,low_usd,high_usd,inputs,basis,rationale,break";

const INPUTS: Readonly<Record<string, readonly string[]>> = {
  "catalog.csv": [
    COLUMNS,
    "ddr5-16gb,D5,DDR5 16Gb,memory,DRAM,USD per chip,45,Source A,https://example.com/d5,2,true,spot,,,",
    "tlc-1tb,S1,TLC SSD 1TB,memory,SSD,USD per drive,20,Source B,https://example.com/s1,1000,true,spot,,,",
    `${NOR},,,`,
    WAFER,
  ],
  "second-catalog.csv": [
    COLUMNS,
    "ddr5-16gb,D5,DDR5 16Gb,memory,DRAM,USD per chip,45,Source A,https://example.com/d5,2,true,spot,,,",
    "tlc-1tb,S1,TLC SSD 1TB,memory,SSD,USD per drive,20,Source B,https://example.com/s1,1000,true,spot,,,",
    `${NOR},,,`,
    WAFER,
    GDDR7,
  ],
  "closes.csv": [
    "id,date,close_usd,low_usd,high_usd",
    "ddr5-16gb,2025-11-11,2,,",
    "ddr5-16gb,2026-10-12,2.4,2.3,2.5",
    "ddr5-16gb,2026-11-11,2.9,,",
    "tlc-1tb,2025-11-11,80,,",
    "tlc-1tb,2026-11-11,61.2,,",
    "nor-old,2025-11-11,0.5,,",
    "nor-old,2026-11-11,0.55,,",
    "n3-wafer,2025-11-11,10000,,",
    "n3-wafer,2026-11-01,10800,,",
  ],
  "first.csv": [
    QUOTES,
    "ddr5-16gb,2.95,,,,reported,,",
    "tlc-1tb,60,58.5,61,7,reported,,",
    "nor-old,0.55,,,,estimated,,",
    "n3-wafer,11000,,,,assessed,Middle of two offers,",
  ],
  "gddr7.csv": ["id,date,close_usd", "gddr7-16gb,2025-11-11,3", "gddr7-16gb,2026-11-10,6"],
  "second.csv": [
    QUOTES,
    "ddr5-16gb,3,2.95,3.1,12,reported,,",
    "tlc-1tb,59.5,58,60,9,reported,,",
    "nor-old,5.5,,,,reported,,",
    "n3-wafer,11000,,,,assessed,,",
  ],
  "wrong.csv": [
    "id,spot_usd,low_usd,high_usd",
    "ddr5-16gb,2.1,2,2.2",
    "tlc-1tb,66.6,66,67",
    "nor-old,0.6,,",
  ],
  "next-catalog.csv": [
    COLUMNS,
    "ddr5-16gb-spot,D5,DDR5 16Gb,memory,DRAM,USD per chip,45,Source A,https://example.com/d5,2,true,spot,,ddr5-16gb,",
    "tlc-1tb,S1,TLC SSD 1TB,memory,SSD,USD per pair,20,Source B,https://example.com/s1,2000,true,spot,,,",
    `${NOR},2026-11-21,,`,
    WAFER,
    GDDR7,
  ],
  "third.csv": [
    QUOTES,
    "ddr5-16gb-spot,3.1,3,3.2,14,reported,,",
    "tlc-1tb,118,,,,reported,,Sold in pairs from now on",
    "n3-wafer,11100,,,,assessed,Both offers rose,",
  ],
  "restated.csv": [
    "id,session_utc,spot_usd,low_usd,high_usd,basis",
    "ddr5-16gb-spot,2026-11-20T00Z,3.01,2.95,3.1,reported",
    "nor-old,2026-11-12T00Z,,,,withdrawn",
  ],
};

/** When (ISO 8601), and what the operator runs then. */
const STEPS: readonly (readonly [now: string, line: string])[] = [
  [
    "2026-11-12T00:05:00Z",
    "publish --catalog catalog.csv --closes closes.csv --quotes first.csv --attribution 'Made-up levels, for tests'",
  ],
  [
    "2026-11-20T00:05:00Z",
    "publish --quotes second.csv --catalog second-catalog.csv --closes gddr7.csv --restate-series 'GDDR7 joins with its history' --restate-members --hold nor-old --accept gap free:gddr7-16gb series --by 'Night desk' --why 'Nobody published for a week'",
  ],
  ["2026-11-20T06:00:00Z", "publish --quotes wrong.csv --revise 'The source restated two levels'"],
  [
    "2026-11-20T06:30:00Z",
    "snapshots rollback 2026-11-20T00Z/r1 --reason 'The correction was of another market'",
  ],
  ["2026-11-20T07:00:00Z", "snapshots prune --keep-days 5"],
  [
    "2026-11-21T00:05:00Z",
    "publish --catalog next-catalog.csv --quotes third.csv restated.csv --revise 'The source restated two levels'",
  ],
];

/** The callers and addresses whose answers are kept. */
const CONTRACTS = ["ddr5-16gb", "ddr5-16gb-spot", "tlc-1tb", "nor-old", "n3-wafer"];
const INDICES = ["composite", "dram", "ssd", "foundry"];
const VINTAGES = ["publication=2", "publication=3", "as_of=2026-11-20T06:40:00Z"];
/** The first snapshot is pruned; the prune made no head. */
const GONE = ["publication=1", "publication=5"];
const { board, contract, index, csv, historyCsv, levelsCsv, corrections } = DATA_ROUTES;
const SELECTIONS = [
  `${board.path}?ids=tlc-1tb`,
  `${contract.path.replace("{id}", "tlc-1tb")}?last=2`,
  `${csv.path}?segment=dram,ssd`,
  `${historyCsv.path}?from=2026-10-01&to=2026-11-20`,
  `${levelsCsv.path}?ids=n3-wafer,tlc-1tb&last=3`,
  `${corrections.path}?after=2`,
];
const BASKETS = ["ids=n3-wafer,nor-old&weights=3,1", "ids=tlc-1tb,n3-wafer&quantities=20,0.5"];
const LOG = "/api/public/v1/publications?after=0";
const SUMS = "/api/public/v1/sums";

/** An answer that every later version must give from this store. */
export interface Answer {
  readonly tier: TierName;
  readonly path: string;
  readonly status: number;
  /** Of a 200: `x-snapshot`; null where the answer is of no snapshot. */
  readonly snapshot?: string | null;
  /** Of a file, or lines of one: the SHA-256 of its bytes. */
  readonly sha256?: string;
  /** What the program computes: later versions may add fields. */
  readonly json?: unknown;
  /** Of a refusal. */
  readonly code?: string;
}

/** Words between apostrophes are one. */
const wordsOf = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));

/** Writes store, public key, answers, state and its keys into a new folder. The private key is not kept. */
export async function freeze(folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "chipboard-freeze-"));
  try {
    await mkdir(folder);
    const store = join(folder, FILES.store);
    for (const [name, lines] of Object.entries(INPUTS)) {
      await writeFile(join(work, name), `${lines.join("\n")}\n`);
    }
    const run = (now: string, line: string): Promise<string> =>
      outputOf(wordsOf(line), { cwd: work, env: { CHIPBOARD_STORE: store, CHIPBOARD_NOW: now } });
    await run(ASKED_AT, "keys signing --out signing.pem");
    for (const [now, line] of STEPS) await run(now, `${line} --sign-key signing.pem`);
    await rename(join(work, "signing.pem.pub"), join(folder, FILES.publicKey));
    const answers = await ask(store, folder);
    const lines = answers.map((answer) => JSON.stringify(answer));
    await writeFile(join(folder, FILES.answers), `${lines.join("\n")}\n`);
  } finally {
    await rm(work, { recursive: true });
  }
}

/** What a proxy of this version answers from the store. Leaves its state, and a key of each tier, in the folder. */
async function ask(store: string, folder: string): Promise<Answer[]> {
  const env = { CHIPBOARD_STATE: join(folder, FILES.state), CHIPBOARD_NOW: ASKED_AT };
  const keys = new Map<TierName, string>();
  for (const tier of ["starter", "pro"] as const) {
    await outputOf(["accounts", "add", tier, "--tier", tier], { env });
    const { key } = JSON.parse(await outputOf(["keys", "create", tier, "--json"], { env }));
    keys.set(tier, key);
  }
  const link = await makeHistory(env);
  const known = { ...Object.fromEntries(keys), link };
  await writeFile(join(folder, FILES.keys), `${JSON.stringify(known)}\n`);
  const proxy = await serve(["--store", store], { env });
  try {
    const answers: Answer[] = [];
    for (const tier of TIER_NAMES) {
      for (const path of pathsOf(tier)) {
        answers.push({ tier, path, ...(await answerTo(proxy.url + path, keys.get(tier))) });
      }
    }
    return answers;
  } finally {
    await proxy.end();
  }
}

/** Changes accounts and keys in each way, beside the two accounts whose answers are kept. Returns a link's address. */
async function makeHistory(env: Readonly<Record<string, string>>): Promise<string> {
  const say = async (line: string) =>
    JSON.parse(await outputOf(wordsOf(`${line} --json`), { env }));
  await say("accounts add desk --tier starter --note 'Trial by telephone' --by 'Night desk'");
  await say("accounts set desk --tier pro");
  const first = await say("keys create desk --label old");
  const second = await say(`keys rotate ${first.key_id}`);
  await say(`keys suspend ${second.key_id}`);
  await say(`keys resume ${second.key_id}`);
  await say("accounts add gone --tier pro");
  const revoked = await say("keys create gone");
  await say(`keys revoke ${revoked.key_id}`);
  await outputOf(["accounts", "rm", "gone", "--yes"], { env });
  await say("accounts add late --tier starter");
  await say("accounts set late --suspend");
  const { link } = await say("links create desk '/export.csv?segment=dram' --label sheet");
  return link;
}

/** What a caller gets, as it is kept. */
export async function answerTo(
  url: string,
  key: string | undefined,
  coding = "identity",
): Promise<Omit<Answer, "tier" | "path">> {
  const headers = { "accept-encoding": coding, ...(key !== undefined && { "x-api-key": key }) };
  const answer = await fetch(url, { headers, redirect: "manual" });
  const { status } = answer;
  const bytes = Buffer.from(await answer.arrayBuffer());
  if (status >= 400) return { status, code: JSON.parse(String(bytes)).code };
  if (status !== 200) return { status };
  const snapshot = answer.headers.get("x-snapshot");
  const isComputed =
    /[?&](?:weights|quantities|limit|after)=/.test(url) && !url.includes("/corrections");
  if (isComputed) return { status, snapshot, json: JSON.parse(String(bytes)) };
  return { status, snapshot, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Live and old: every file of the tier, some of its lines, baskets; for each tier what others have. */
function pathsOf(tier: TierName): string[] {
  const files = [...dataPaths("pro", CONTRACTS, INDICES), SUMS];
  const live = [...files, ...SELECTIONS, ...BASKETS.map((query) => `${index.path}?${query}`)];
  if (tier === "free") return [...live, LOG, `${board.path}?publication=2`];
  const old = VINTAGES.flatMap((vintage) =>
    live.map((path) => `${path}${path.includes("?") ? "&" : "?"}${vintage}`),
  );
  return [...live, ...old, ...GONE.map((vintage) => `${board.path}?${vintage}`)];
}

/** The released versions that have a folder here, oldest first. */
export const releases = async (): Promise<string[]> =>
  (await readdir(import.meta.dirname, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .toSorted((one, other) => one.localeCompare(other, "en", { numeric: true }));
