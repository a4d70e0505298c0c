/** The rows of the files of histories and levels from the raw rows of the input, by plain loops. */
import { fractionOf, rounded } from "./naive-fraction.ts";
import { iso, withLevel, HOUR, type Level, type RawMarket, type RawTier } from "./naive-levels.ts";
import { isWithinDepth } from "./naive-market.ts";

/** A row as texts; empty: none. */
export interface NaiveHistoryRow {
  readonly contract_id: string;
  readonly date: string;
  readonly close_usd: string;
  readonly low_usd: string;
  readonly high_usd: string;
  readonly inputs: string;
  readonly basis: string;
  readonly session_utc: string;
  readonly break_reason: string;
}

/** The rows of a tier in the snapshot of `headUtc`. */
export function naiveHistory(raw: RawMarket, headUtc: string, tier: RawTier): NaiveHistoryRow[] {
  const at = Date.parse(headUtc) - (tier === "pro" ? 0 : 12 * HOUR);
  const rows: NaiveHistoryRow[] = [];
  for (const board of ["memory", "semiconductor"]) {
    for (const { contract, levels } of withLevel(raw, at, board)) {
      let reason = "";
      levels.forEach((level, place) => {
        if (level.row.break !== null) reason = level.row.break;
        const isLast = place === levels.length - 1;
        // Only the last level of a date is in the history.
        if (!isLast && levels[place + 1]?.row.as_of === level.row.as_of) return;
        if (isLast || isWithinDepth(level.row.as_of, iso(at), tier)) {
          rows.push({
            contract_id: contract.id,
            date: level.row.as_of,
            close_usd: price(level.row.spot_usd),
            low_usd: price(level.row.low_usd),
            high_usd: price(level.row.high_usd),
            inputs: String(level.row.inputs ?? ""),
            basis: level.row.basis,
            session_utc: iso(level.at),
            break_reason: reason,
          });
        }
        reason = "";
      });
    }
  }
  return rows;
}

/** A row as texts; empty: none. */
export interface NaiveLevelRow {
  readonly contract_id: string;
  readonly session_utc: string;
  readonly spot_usd: string;
  readonly low_usd: string;
  readonly high_usd: string;
  readonly inputs: string;
  readonly basis: string;
  readonly as_of: string;
  readonly break_reason: string;
}

/** The rows of levels.csv of a tier in the snapshot of `headUtc`. */
export function naiveLevels(raw: RawMarket, headUtc: string, tier: RawTier): NaiveLevelRow[] {
  const at = Date.parse(headUtc) - (tier === "pro" ? 0 : 12 * HOUR);
  const isDeep = (instant: number): boolean =>
    isWithinDepth(iso(instant).slice(0, 10), iso(at), tier);
  /** Whether the level is of the first session of the depth. */
  const isFirst = (level: Level): boolean => isDeep(level.at) && !isDeep(level.at - 12 * HOUR);
  return ["memory", "semiconductor"].flatMap((board) =>
    withLevel(raw, at, board).flatMap(({ contract, levels }) => {
      const before = levels.filter((level) => !isDeep(level.at)).slice(-1);
      return levels
        .filter((level) => isDeep(level.at) || (before.includes(level) && !levels.some(isFirst)))
        .map((level) => ({
          contract_id: contract.id,
          session_utc: iso(level.at),
          spot_usd: price(level.row.spot_usd),
          low_usd: price(level.row.low_usd),
          high_usd: price(level.row.high_usd),
          inputs: String(level.row.inputs ?? ""),
          basis: level.row.basis,
          as_of: level.row.as_of,
          break_reason: level.row.break ?? "",
        }));
    }),
  );
}

const price = (text: string | null): string =>
  text === null ? "" : rounded(fractionOf(text), 6).slice(1);
