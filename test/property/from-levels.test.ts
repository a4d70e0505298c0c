/**
 * With `/levels.csv`, `/prices` and `/prices/{id}` of the tier pro alone, the naive calculation gives every
 * figure of the board, the index and the baskets.
 */
import { test } from "@fast-check/vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { expectSame } from "./against-naive.ts";
import type { RawContract, RawMarket } from "./naive-levels.ts";
import { naiveTier } from "./naive-market.ts";
import { naiveBasketFile } from "./naive-quantities.ts";
import { PublishedFiles, publishRaw, splitInput } from "./published.ts";
import { rawCases } from "./raw-markets.ts";
import { runs } from "./runs.ts";

const BOARDS = ["memory", "semiconductor"] as const;
type Fields = Readonly<Record<string, string | null>>;
type Board = Readonly<Record<(typeof BOARDS)[number], readonly Fields[]>>;

/** The digits of a number as `exactJson` gives it. */
const digits = (value: string): string => value.slice("#".length);

/** The market as a caller can know it. */
async function readMarket(files: PublishedFiles, board: Board): Promise<RawMarket> {
  const listed = BOARDS.flatMap((name) =>
    board[name].map((record) => ({ ...record, board: name })),
  );
  const contracts = await Promise.all(
    listed.map(async (record: Fields) => {
      const { max_carry_days, delisted_on } = await files.json(
        `pro/contracts/${record["id"]}.json`,
      );
      const { ai_exposure_pct, capacity_gb, ...texts } = record;
      return {
        ...texts,
        ai_exposure_pct: digits(ai_exposure_pct as string),
        capacity_gb: capacity_gb == null ? null : digits(capacity_gb),
        max_carry_days: Number(digits(max_carry_days as string)),
        delisted_on,
      } as unknown as RawContract;
    }),
  );
  const rows = await files.csv("pro/levels.csv");
  const levels = rows.map((row) => ({
    id: row["contract_id"] as string,
    session_utc: row["session_utc"] as string,
    spot_usd: row["spot_usd"] as string,
    as_of: row["as_of"] as string,
    basis: row["basis"] as string,
    break: row["break_reason"] || null,
    low_usd: row["low_usd"] || null,
    high_usd: row["high_usd"] || null,
    inputs: row["inputs"] === "" ? null : Number(row["inputs"]),
    source: null,
    source_url: null,
    rationale: null,
  }));
  // Each contract says the limit that is in force.
  return { contracts, levels, max_carry_days: 0 };
}

/** The latest break may be older than all levels of the file; it is no figure. */
const figuresOf = (records: readonly object[]): object[] =>
  records.map((record) => ({ ...record, break: null }));

test.prop([rawCases], runs(60))(
  "every figure can be calculated again from what callers get",
  async ({ raw, sessionUtc }) => {
    const store = new MemoryStore();
    const input = splitInput(raw, sessionUtc, false);
    const given = { ...input, contracts: raw.contracts, maxCarryDays: raw.max_carry_days };
    const files = new PublishedFiles(store, await publishRaw(store, given, sessionUtc));
    const board = (await files.json("pro/board.json")) as unknown as Board;
    const market = await readMarket(files, board);

    const again = naiveTier(market, sessionUtc, "pro");
    for (const name of BOARDS) expectSame(figuresOf(board[name]), figuresOf(again[name]));
    const index = await files.json("pro/index.json");
    const figures = Object.keys(again.index).map((field) => [field, index[field]]);
    expectSame(Object.fromEntries(figures), again.index);
    const { contracts } = await files.json("pro/basket.json");
    expectSame(contracts, naiveBasketFile(market, sessionUtc));
  },
);
