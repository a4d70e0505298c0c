/**
 * The market of a soak as plain rows: levels published, corrected and withdrawn. The naive
 * calculation computes from them what must be published.
 */
import type { CorrectionRow } from "../../test/property/against-naive.ts";
import {
  DAY,
  HOUR,
  inForce,
  iso,
  levelsOf,
  type RawContract,
  type RawLevel,
  type RawMarket,
} from "../../test/property/naive-levels.ts";
import type { Draws } from "./soak-draws.ts";

const CONTRACTS = 24;
const MEMORY = 16;
const CLOSE_DAYS = 400;
const MISSING_MAX = 3;
/** Only contracts from this one on sometimes change their unit; baskets of others can be priced. */
const UNSTEADY_FROM = 18;
/** The contract that is priced so rarely that it sometimes leaves the board. */
const SELDOM = 20;
const SESSION_MS = 12 * HOUR;
const REVISED_SESSIONS = 8;

/** Levels since the closes, by contract and session, and their corrections. */
export interface MarketState {
  readonly given: ReadonlyMap<string, RawLevel>;
  readonly corrections: ReadonlyMap<string, readonly CorrectionRow[]>;
}

/** A change of a level; `level` null withdraws it. */
export interface Change {
  readonly id: string;
  readonly session_utc: string;
  readonly level: RawLevel | null;
}

export class SoakMarket {
  readonly contracts: readonly RawContract[];
  readonly #closes: readonly RawLevel[];
  readonly #firstMs: number;
  readonly #draws: Draws;
  #state: MarketState = { given: new Map(), corrections: new Map() };

  /** The last closes are of the day before the first session, which starts at `firstMs`. */
  constructor(firstMs: number, draws: Draws) {
    this.#firstMs = firstMs;
    this.#draws = draws;
    this.contracts = Array.from({ length: CONTRACTS }, (_, at) => contractOf(at));
    this.#closes = this.contracts.flatMap(({ id }) => this.#closesOf(id));
  }

  get state(): MarketState {
    return this.#state;
  }

  /** Goes back to an earlier state, as a rollback does. */
  restore(state: MarketState): void {
    this.#state = state;
  }

  /** The input rows of a state. */
  raw(state: MarketState = this.#state): RawMarket {
    const levels = [...this.#closes, ...state.given.values()];
    return { contracts: this.contracts, levels, max_carry_days: 45 };
  }

  /** Levels of a session for nearly all contracts, each close to the one before. */
  drawQuotes(sessionUtc: string): RawLevel[] {
    const raw = this.raw();
    const draws = this.#draws;
    const missing = new Set(Array.from({ length: MISSING_MAX }, () => draws.below(CONTRACTS)));
    return this.contracts.flatMap(({ id }, at) => {
      const drawn = draws.next();
      const basis = draws.pick(["reported", "reported", "assessed", "estimated"]);
      if (missing.has(at) || (at === SELDOM && drawn > 0.2)) return [];
      const last = lastUsd(raw, id, sessionUtc);
      if (at < UNSTEADY_FROM || drawn > 0.06)
        return [levelOf(id, sessionUtc, nearby(last, drawn), basis, null)];
      const other = last > 200 ? last / 2.2 : last * 2.2;
      return [levelOf(id, sessionUtc, other, basis, "Sold in another unit from now on")];
    });
  }

  /** One to three levels of the last sessions to add, change or withdraw. */
  drawChanges(sessionUtc: string): Change[] {
    const draws = this.#draws;
    const raw = this.raw();
    const headMs = Date.parse(sessionUtc);
    const ids = draws.shuffled(this.contracts.map(({ id }) => id)).slice(0, 1 + draws.below(3));
    return ids.flatMap((id): Change[] => {
      const atMs = Math.max(this.#firstMs, headMs - draws.below(REVISED_SESSIONS) * SESSION_MS);
      const session_utc = iso(atMs);
      const old = this.#state.given.get(slotOf(id, session_utc));
      const drawn = draws.next();
      // Breaks stay: without one, a gate would refuse the next level's move.
      if (old !== undefined && old.break !== null) return [];
      if (old !== undefined && atMs < headMs && draws.next() < 0.25) {
        return [{ id, session_utc, level: null }];
      }
      const usd = nearby(lastUsd(raw, id, session_utc), drawn);
      const level = levelOf(id, session_utc, usd, old?.basis ?? "reported", null);
      return level.spot_usd === old?.spot_usd ? [] : [{ id, session_utc, level }];
    });
  }

  /** Adds the levels of a session. */
  accept(levels: readonly RawLevel[]): void {
    const given = new Map(this.#state.given);
    for (const level of levels) given.set(slotOf(level.id, level.session_utc), level);
    this.#state = { ...this.#state, given };
  }

  /**
   * Applies changes; each is a correction for `reason`, made in the snapshot `correctedIn` by the entry with this
   * number.
   */
  change(changes: readonly Change[], reason: string, correctedIn: string, number: number): void {
    const given = new Map(this.#state.given);
    const corrections = new Map(this.#state.corrections);
    for (const { id, session_utc, level } of changes) {
      const old = given.get(slotOf(id, session_utc));
      const row = {
        session_utc,
        old_usd: old === undefined ? null : `#${old.spot_usd}`,
        new_usd: level === null ? null : `#${level.spot_usd}`,
        reason,
        corrected_in: correctedIn,
        publication: `#${number}`,
      };
      corrections.set(id, [...(corrections.get(id) ?? []), row]);
      if (level === null) given.delete(slotOf(id, session_utc));
      else given.set(slotOf(id, session_utc), level);
    }
    this.#state = { given, corrections };
  }

  closesCsv(): string {
    const rows = this.#closes.map(({ id, as_of, spot_usd }) => `${id},${as_of},${spot_usd}`);
    return `id,date,close_usd\n${rows.join("\n")}\n`;
  }

  #closesOf(id: string): RawLevel[] {
    let usd = 5 + this.#draws.next() * 300;
    return Array.from({ length: CLOSE_DAYS }, (_, at) => {
      usd *= 0.97 + this.#draws.next() * 0.06;
      const atMs = this.#firstMs - (CLOSE_DAYS - at) * DAY + SESSION_MS;
      return levelOf(id, iso(atMs), usd, "reported", null);
    });
  }
}

/** Quotes as a feed. */
export const quotesCsv = (levels: readonly RawLevel[]): string =>
  csv(
    levels.map(({ id, session_utc, spot_usd, basis, break: reason }) =>
      [id, session_utc, spot_usd, basis, reason ?? ""].join(","),
    ),
  );

/** Changes as a feed. */
export const changesCsv = (changes: readonly Change[]): string =>
  csv(
    changes.map(({ id, session_utc, level }) =>
      [id, session_utc, level?.spot_usd ?? "", level?.basis ?? "withdrawn", ""].join(","),
    ),
  );

const csv = (rows: readonly string[]): string =>
  `id,session_utc,spot_usd,basis,break\n${rows.join("\n")}\n`;

const slotOf = (id: string, sessionUtc: string): string => `${id} ${sessionUtc}`;

/** The level in force at a session, in US dollars; every contract has closes before it. */
function lastUsd(raw: RawMarket, id: string, sessionUtc: string): number {
  const atMs = Date.parse(sessionUtc);
  return Number(inForce(levelsOf(raw, id, atMs), atMs)?.row.spot_usd);
}

const nearby = (usd: number, drawn: number): number => usd * (0.96 + drawn * 0.08);

function levelOf(
  id: string,
  session_utc: string,
  usd: number,
  basis: string,
  reason: string | null,
): RawLevel {
  const spot_usd = String(Number(usd.toFixed(4)));
  const as_of = session_utc.slice(0, 10);
  const none = { source: null, source_url: null, low_usd: null, high_usd: null, inputs: null };
  const rationale = null;
  return { id, session_utc, spot_usd, as_of, basis, ...none, break: reason, rationale };
}

function contractOf(at: number): RawContract {
  const isMemory = at < MEMORY;
  return {
    id: isMemory ? `dram-${at}` : `wafer-${at}`,
    ticker: `T${at}`,
    name: `Contract ${at}`,
    board: isMemory ? "memory" : "semiconductor",
    segment: isMemory ? "DRAM" : "Foundry",
    unit: "USD per piece",
    ai_exposure_pct: String(at),
    source: "A source",
    source_url: `https://example.com/${at}`,
    capacity_gb: isMemory ? "2" : null,
    max_carry_days: at === SELDOM ? 1 : null,
    free: at < 10,
    price_type: null,
    delisted_on: null,
  };
}
