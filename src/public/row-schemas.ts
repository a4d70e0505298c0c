/**
 * The rows of CSV files whose columns no other table has, as zod schemas: their headers, and the types of the Python
 * client's records. An empty cell is null.
 */
import { z } from "zod";
import { BASES } from "../market/series.ts";

const date = z.iso.date();
const instant = z.iso.datetime({ precision: 3 });
const usd = z.number().positive();
const entry = z.int().positive();

/** The prices behind a level. */
const behind = {
  low_usd: usd.nullable(),
  high_usd: usd.nullable(),
  inputs: z.int().positive().nullable(),
  basis: z.enum(BASES),
};

/** `/history.csv`. Parquet has the same columns. */
export const historyRow = z.object({
  contract_id: z.string(),
  date,
  close_usd: usd,
  ...behind,
  session_utc: instant,
  break_reason: z.string().nullable(),
});

const level = z.object({
  contract_id: z.string(),
  session_utc: instant,
  spot_usd: usd,
  ...behind,
  as_of: date,
  break_reason: z.string().nullable(),
});

/** `/levels.csv`. Tiers without `/superseded.csv` lack `known_from`, as in `/indices.csv`. */
export const levelRow = level.extend({ known_from: entry.optional() });

/** `/superseded.csv`. `left` says whether the row ended because its contract left the catalog. */
export const supersededRow = level.extend({
  known_from: entry,
  known_to: entry,
  left: z.enum(["true", "false"]),
});

/** `/indices.csv`. */
export const seriesRow = z.object({
  index_id: z.string(),
  date,
  close: z.number().nonnegative(),
  known_from: entry.nullable().optional(),
});

/** `/members.csv`. */
export const memberRow = z.object({
  index_id: z.string(),
  contract_id: z.string(),
  from: date,
  to: date.nullable(),
  max_carry_days: z.int().nonnegative(),
});

/** The first line of a file. The columns that not all tiers have stand last. */
export const headerOf = ({ shape }: z.ZodObject, hasAll = true): string =>
  Object.entries(shape)
    .flatMap(([name, cell]) => (hasAll || !(cell instanceof z.ZodOptional) ? name : []))
    .join(",");
