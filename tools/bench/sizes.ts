/**
 * Measures what a session adds to a store on S3: bytes, objects, and the requests of its publish. Markets
 * of two sizes have a level in each session of so many years before. Prints Markdown at the end, with the
 * sums over years, which take the sessions between two that were measured as lying on a line. The
 * server is the one of CHIPBOARD_TEST_S3_…, or a new gateway on 127.0.0.1, which keeps everything in memory.
 */
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { sessionKey } from "../../src/market/session.ts";
import { run } from "../../src/main.ts";
import { openStore } from "../../src/store/open-store.ts";
import { testService } from "../../test/services/services.ts";
import { instantIn, writeMarket, type MarketFiles } from "./bench-market.ts";
import { sent } from "./sent.ts";

const CONTRACTS = [110, 1_200];
const YEARS = [0, 0.25, 1, 3, 5];
const SESSIONS_A_YEAR = 730;

interface Added {
  readonly years: number;
  readonly bytes: number;
  readonly objects: number;
  readonly requests: number;
  readonly puts: number;
}

const service = testService("s3");
if (service === null) throw new Error("There is no S3 server to publish to");
Object.assign(process.env, service.env);
const endpoint = service.env["CHIPBOARD_TEST_S3_ENDPOINT"] as string;
const S3 = ["--s3-endpoint", endpoint, "--s3-path-style"];
try {
  const all = new Map<number, readonly Added[]>();
  for (const contracts of CONTRACTS) all.set(contracts, await measure(contracts));
  for (const [contracts, added] of all) print(contracts, added);
} finally {
  service.stop();
}

async function measure(contracts: number): Promise<Added[]> {
  const all: Added[] = [];
  for (const years of YEARS) {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-sizes-"));
    try {
      all.push({ years, ...(await addedBy(folder, contracts, years)) });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  return all;
}

/** Publishes all that lies before with one session, and then the next one, which is measured. */
async function addedBy(
  folder: string,
  contracts: number,
  years: number,
): Promise<Omit<Added, "years">> {
  const bucket = service?.env["CHIPBOARD_TEST_S3_BUCKET"];
  const location = `s3://${bucket}/sizes-${contracts}-${years}-${process.pid}`;
  const market = writeMarket(folder, contracts, 2, Math.round(years * 365));
  const midnights = await writeMidnights(folder, market);
  const past = [
    "--catalog",
    market.catalog,
    "--closes",
    ...market.closes,
    "--quotes",
    ...midnights,
  ];
  const begun = await run(["node", "chipboard", "store", "init", "--store", location, ...S3]);
  if (begun !== 0) throw new Error(`store init ended with ${begun}`);
  await publish(location, market, 0, past);
  const before = await stored(location);
  const { requests, puts } = sent;
  await publish(location, market, 1, ["--quotes"]);
  const added = { requests: sent.requests - requests, puts: sent.puts - puts };
  const { bytes, objects } = await stored(location);
  return { bytes: bytes - before.bytes, objects: objects - before.objects, ...added };
}

/** `words` ends with `--quotes` and its first files; the session's files follow. */
async function publish(
  location: string,
  { quotes }: MarketFiles,
  index: number,
  words: readonly string[],
): Promise<void> {
  const { session, file } = quotes[index] as MarketFiles["quotes"][number];
  process.env["CHIPBOARD_NOW"] = instantIn(session);
  const to = ["--session", sessionKey(session), "--store", location];
  const code = await run(["node", "chipboard", "publish", ...to, ...S3, ...words, file]);
  if (code !== 0) throw new Error(`publish ended with ${code}`);
}

/** Writes a level for 00:00 of each day that has a close, half way from the close before. */
async function writeMidnights(folder: string, { closes }: MarketFiles): Promise<string[]> {
  const files: string[] = [];
  for (const from of closes) {
    const file = join(folder, `midnights-${files.length + 1}.csv`);
    const out = await open(file, "w");
    let before = { id: "", usd: 0 };
    let rows = "id,session_utc,spot_usd\n";
    for await (const line of createInterface(createReadStream(from))) {
      const [id = "", date, close] = line.split(",");
      if (id === "id") continue;
      const usd = Number(close);
      const half = id === before.id ? (before.usd + usd) / 2 : usd;
      rows += `${id},${date}T00Z,${half.toFixed(2)}\n`;
      before = { id, usd };
      if (rows.length < 1e6) continue;
      await out.write(rows);
      rows = "";
    }
    await out.write(rows);
    await out.close();
    files.push(file);
  }
  return files;
}

async function stored(location: string): Promise<{ bytes: number; objects: number }> {
  const store = await openStore(location, { endpoint, pathStyle: true });
  const sum = { bytes: 0, objects: 0 };
  for await (const { sizeBytes } of store.list("")) {
    sum.bytes += sizeBytes;
    sum.objects += 1;
  }
  await store.close();
  return sum;
}

function print(contracts: number, all: readonly Added[]): void {
  console.log(
    `\n${contracts} contracts\n\n| years before | MB of a session | files | requests | PUT |`,
  );
  console.log("|---|---|---|---|---|");
  for (const { years, bytes, objects, requests, puts } of all) {
    console.log(`| ${years} | ${(bytes / 1e6).toFixed(2)} | ${objects} | ${requests} | ${puts} |`);
  }
  let gb = 0;
  let objects = 0;
  for (const [at, { years, ...end }] of all.entries()) {
    const begin = all[at - 1];
    if (begin === undefined) continue;
    const sessions = (years - begin.years) * SESSIONS_A_YEAR;
    gb += (sessions * (begin.bytes + end.bytes)) / 2e9;
    objects += (sessions * (begin.objects + end.objects)) / 2;
    console.log(
      `\n${years} years from the first session on: ${gb.toFixed(1)} GB, ${objects} files`,
    );
  }
}
