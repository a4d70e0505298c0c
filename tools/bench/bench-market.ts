/**
 * A market of any size as input files: a catalog, years of daily closes,
 * and the quotes of the sessions that follow. Levels are random walks with fixed seeds: the same
 * size always gives the same bytes. Rows are written contract by contract, so that 1,200 contracts
 * (2 million closes, about 60 MB) need no more memory than ten.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createNoise, seedOf } from "../../src/demo/random.ts";
import {
  dateText,
  dayOf,
  parseSession,
  sessionKey,
  SESSION_MS,
  sessionStartMs,
  type Session,
} from "../../src/market/session.ts";

/** The closes of a contract unless a bench says otherwise: one for each day of five years. */
export const CLOSES = 1826;
const CONTRACTS_IN_A_FILE = 1_000;
export const FIRST_SESSION = parseSession("2026-11-21T00Z") as Session;

/** The time of publication, five minutes into the session (ISO 8601). */
export const instantIn = (session: Session): string =>
  new Date(sessionStartMs(session) + SESSION_MS / 144).toISOString();

export interface MarketFiles {
  readonly catalog: string;
  /** Each with rows of at most CONTRACTS_IN_A_FILE contracts: an input has at most 2,000,000 rows. */
  readonly closes: readonly string[];
  /** In the order of the sessions, which begin with FIRST_SESSION. */
  readonly quotes: readonly { readonly session: Session; readonly file: string }[];
}

/**
 * Writes the files into `folder`: the catalog of `contracts` contracts, quotes for `sessions`, and for
 * each contract the closes of so many days before the first session.
 */
export function writeMarket(
  folder: string,
  contracts: number,
  sessions: number,
  closeDays = CLOSES,
): MarketFiles {
  const catalog = join(folder, "catalog.csv");
  writeRows(catalog, CATALOG_HEADER, 0, contracts, catalogRow);
  const days = daysBefore(dayOf(FIRST_SESSION), closeDays);
  const lastUsd = new Float64Array(contracts);
  const closesOf = (at: number): string => {
    const step = walk(`${contractId(at)} closes`);
    let usd = startUsd(at);
    let rows = "";
    for (const day of days) {
      usd = step(usd);
      rows += `${contractId(at)},${day},${centsText(usd)}\n`;
    }
    lastUsd[at] = usd;
    return rows;
  };
  const closes: string[] = [];
  for (let from = 0; from < contracts; from += CONTRACTS_IN_A_FILE) {
    const file = join(folder, `closes-${closes.length + 1}.csv`);
    const to = Math.min(contracts, from + CONTRACTS_IN_A_FILE);
    writeRows(file, "id,date,close_usd\n", from, to, closesOf);
    closes.push(file);
  }
  const quotes = Array.from({ length: sessions }, (_, index) => {
    const session = FIRST_SESSION + index;
    const file = join(folder, `quotes-${sessionKey(session)}.csv`);
    writeRows(file, "id,spot_usd\n", 0, contracts, (at) => {
      const usd = walk(`${contractId(at)} ${session}`)(lastUsd[at] as number);
      lastUsd[at] = usd;
      return `${contractId(at)},${centsText(usd)}\n`;
    });
    return { session, file };
  });
  return { catalog, closes, quotes };
}

/** The id of the contract at a place of the catalog, such as `ddr5-00007`. */
export const contractId = (at: number): string =>
  `${segmentOf(at).segment.toLowerCase()}-${String(at).padStart(5, "0")}`;

/** Contracts of both boards, with levels from a chip's to a wafer's. */
const SEGMENTS = [
  { board: "memory", segment: "DDR5", unit: "USD per chip", capacityGb: "2", usd: 12 },
  { board: "memory", segment: "DDR4", unit: "USD per chip", capacityGb: "1", usd: 6 },
  { board: "memory", segment: "HBM", unit: "USD per stack", capacityGb: "36", usd: 480 },
  { board: "memory", segment: "NAND", unit: "USD per die", capacityGb: "64", usd: 9 },
  { board: "memory", segment: "SSD", unit: "USD per drive", capacityGb: "3840", usd: 610 },
  { board: "semiconductor", segment: "Foundry", unit: "USD per wafer", capacityGb: "", usd: 16800 },
] as const;

const segmentOf = (at: number) => SEGMENTS[at % SEGMENTS.length] as (typeof SEGMENTS)[number];

const CATALOG_HEADER =
  "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb\n";

function catalogRow(at: number): string {
  const { board, segment, unit, capacityGb } = segmentOf(at);
  const name = `${segment} product ${at}, bench grade ${at % 7}`;
  const about = `${board},${segment},${unit},${(at * 13) % 101}`;
  return `${contractId(at)},${segment.toUpperCase()}-${at},"${name}",${about},Bench Prices,https://prices.example/${contractId(at)},${capacityGb}\n`;
}

const startUsd = (at: number): number => segmentOf(at).usd * (0.6 + ((at * 37) % 80) / 100);

/** One step of a contract's random walk: at most 5 percent, and never down to 0. */
function walk(name: string): (usd: number) => number {
  const noise = createNoise(seedOf(name));
  return (usd) => Math.max(1, usd * (1 + 0.012 * noise()));
}

const CENTS = Array.from({ length: 100 }, (_, cents) => `.${String(cents).padStart(2, "0")}`);

/** Formats with two decimals. `toFixed` would take as long as everything else. */
function centsText(usd: number): string {
  const cents = Math.round(usd * 100);
  return `${Math.floor(cents / 100)}${CENTS[cents % 100]}`;
}

const daysBefore = (end: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => dateText(end - count + index));

function writeRows(
  path: string,
  header: string,
  from: number,
  to: number,
  rows: (at: number) => string,
): void {
  const file = openSync(path, "wx");
  try {
    writeSync(file, header);
    for (let at = from; at < to; at += 1) writeSync(file, rows(at));
  } finally {
    closeSync(file);
  }
}
