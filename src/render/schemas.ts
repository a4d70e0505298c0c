/**
 * The JSON answers as zod schemas. The OpenAPI document is generated from them, and tests check every
 * answer against that document. The fields of records come from the table of columns.
 */
import { z } from "zod";
import { EXCLUSION_REASONS } from "../market/change.ts";
import { INDEX_BASE_LEVEL } from "../market/composite.ts";
import { KEY_TIER_NAMES, perTier, TIER_NAMES } from "../market/tier.ts";
import { fieldOf, RECORD_COLUMNS, type Column } from "./columns.ts";
import { CHAINED_METHOD } from "../market/chained.ts";
import { COMPOSITE } from "../market/indices.ts";
import { BOARD_BASES } from "../market/series.ts";
import { BASKET, WEIGHTINGS } from "./index-body.ts";

const instant = z.iso.datetime({ precision: 3 });
const date = z.iso.date();
const count = z.int().nonnegative();
const percent = (what: string) => z.number().nullable().describe(`${what}, percent; null: none.`);

const envelope = {
  session_utc: instant.describe("The 12-hour session the payload belongs to (UTC)."),
  delayed_sessions: count.describe(
    "Sessions the data is behind the clock: the tier's delay and sessions that are overdue.",
  ),
  license: z.string().describe("What the data may be used for."),
  attribution: z.string().describe("Credit line to display when using the data."),
};

const breakSchema = z
  .object({ session_utc: instant, reason: z.string() })
  .describe("From this session on, levels are not comparable with earlier ones.");

const recordFields = {
  ...Object.fromEntries(RECORD_COLUMNS.map((column) => [fieldOf(column), valueOf(column)])),
  break: breakSchema.nullable().describe("The latest break; null: none."),
};

/** A record of a board. */
export const contractRecord = z.object(recordFields);

/** `/prices`. */
export const board = z.object({
  ...envelope,
  counts: z.object({ memory: count, semiconductor: count }).describe("Lengths of the arrays."),
  next_session_utc: instant.describe("The session after the newest one published."),
  memory: z.array(contractRecord),
  semiconductor: z.array(contractRecord),
});

const correctionFields = {
  session_utc: instant,
  old_usd: z.number().positive().nullable(),
  new_usd: z.number().positive().nullable(),
  reason: z.string(),
  corrected_in: z.string().describe("The snapshot that brought the correction."),
};
const CORRECTIONS = "Published levels that were changed later; null: no level.";

/** `/corrections`. */
export const corrections = z.object({
  ...envelope,
  corrections: z
    .array(z.object({ contract_id: z.string(), ...correctionFields }))
    .describe(`${CORRECTIONS} Oldest corrected_in first.`),
});

/** `/prices/{id}`. */
export const contract = z.object({
  ...envelope,
  ...recordFields,
  basis: z
    .string()
    .describe(
      "As on a board, or discontinued: the contract is off the boards, and this is its last level, without changes.",
    ),
  history: z
    .array(z.object({ date, close_usd: z.number().positive() }))
    .describe("Daily closes, ascending, as deep as the tier; the last is the record's level."),
  breaks: z.array(breakSchema),
  rationale: z
    .string()
    .nullable()
    .optional()
    .describe("The judgement behind the level in force; null: not given."),
  corrections: z.array(z.object(correctionFields)).describe(CORRECTIONS),
});

const contribution = z.object({
  id: z.string(),
  ticker: z.string(),
  segment: z.string(),
  weight_pct: z.number().nonnegative(),
  base_usd: z.number().positive(),
  spot_usd: z.number().positive(),
  relative: z.number().nonnegative().describe("spot_usd / base_usd."),
  contribution: z.number().describe("Points of the level; they sum to level − 100."),
  contribution_24h_pct: z.number().describe("Percentage points of chg_24h_pct."),
  basis: z.enum(BOARD_BASES).optional().describe("Of the level in force, as on the board."),
  as_of: date.optional().describe("Date of the level in force."),
  base_as_of: date.optional().describe("Date of the level of the base."),
});

const cost = (levels: string) =>
  z
    .number()
    .nonnegative()
    .optional()
    .describe(`Sum of quantity × ${levels}; only with quantities.`);

const indexFields = {
  ...envelope,
  name: z.enum([COMPOSITE, BASKET]),
  weighting: z.enum(WEIGHTINGS),
  base: z
    .object({ date, level: z.literal(INDEX_BASE_LEVEL) })
    .describe("The base rolls: it is one calendar year before the session."),
  level: z
    .number()
    .nullable()
    .describe(
      "100 × the weighted mean of price relatives. As the base rolls, levels of different sessions are not one series. Null: no constituent.",
    ),
  chg_24h_pct: percent("Change against 24 hours earlier, same constituents, weights and base"),
  chg_30d_pct: percent("Change against 30 days earlier, same constituents, weights and base"),
  constituents: count,
  carried: count
    .optional()
    .describe("How many constituents have no level for the session: their last one stands."),
  contributions: z.array(contribution),
  excluded: z
    .array(z.object({ id: z.string(), reason: z.enum(EXCLUSION_REASONS) }))
    .describe("Contracts on the board that are no constituents."),
};

/** `/index`, the composite or a basket. */
export const index = z.object({
  ...indexFields,
  cost_usd: cost("level in force"),
  cost_base_usd: cost("level of the base"),
  cost_24h_usd: cost("level of 24 hours earlier"),
  cost_30d_usd: cost("level of 30 days earlier"),
  contributions: z.array(
    contribution.extend({
      quantity: z
        .number()
        .positive()
        .optional()
        .describe("In the contract's unit; only with quantities."),
    }),
  ),
});

const SERIES_CLOSE =
  "A continuous series: 100 on its first day, then moved from day to day by the geometric mean of price relatives. Its base never moves, so closes of all days compare.";

/** `/indices`. */
export const indices = z.object({
  ...envelope,
  indices: z
    .array(
      z.object({
        id: z.string().describe("Names the index in addresses."),
        name: z.string().describe("The segment, or composite: the whole market."),
        constituents: count,
        level: index.shape.level,
        chg_24h_pct: index.shape.chg_24h_pct,
        chg_30d_pct: index.shape.chg_30d_pct,
        series_close: z.number().nonnegative().nullable().describe(`${SERIES_CLOSE} Null: none.`),
        series_date: date.nullable().describe("The day of series_close."),
      }),
    )
    .describe("The composite, then the segments in the order of the boards."),
});

/** `/indices/{id}`. */
export const indexWithSeries = z.object({
  ...indexFields,
  name: z.string().describe("The id of the index."),
  series: z
    .object({
      method: z.literal(CHAINED_METHOD),
      base: z
        .object({ date: date.nullable(), level: z.literal(INDEX_BASE_LEVEL) })
        .describe("The first day with a level; null: there is none so far."),
      history: z
        .array(z.object({ date, close: z.number().nonnegative() }))
        .describe("Each day at 12:00 UTC, ascending, as deep as the tier."),
    })
    .describe(SERIES_CLOSE),
});

/** `/usage`. */
export const usage = z.object({
  account: z.string().nullable().describe("Null without a key: the client address is counted."),
  tier: z.enum(TIER_NAMES),
  limit: count.nullable().describe("Calls a calendar month (UTC); null: no limit."),
  used: count,
  remaining: count.nullable(),
  resets_at: instant,
});

const snapshotName = (what: string) =>
  z.string().nullable().describe(`${what}, such as 2026-11-21T00Z/r1; null: none.`);

/** `/publications`. */
export const publications = z.object({
  publications: z
    .array(
      z.object({
        number: z.int().positive().describe("The parameter publication of data addresses."),
        at: instant.describe("From this instant on it was the newest."),
        action: z
          .enum(["publish", "rollback", "prune"])
          .describe("A prune removes old snapshots; it has none of the fields below."),
        snapshot: snapshotName("The snapshot that it made the head"),
        session_utc: instant.nullable(),
        revision: z.int().positive().nullable().describe("Of the session."),
        reason: z.string().nullable().describe("Of a revision or a rollback."),
        corrections: count
          .nullable()
          .describe("Published levels that it changed; null: a prune, or not known any more."),
      }),
    )
    .describe("Entries of the log, oldest first."),
  next: z.int().positive().nullable().describe("The parameter after of the next page; null: none."),
});

const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** `/log/{id}`: an entry of the log as it is stored. */
export const logEntry = z.object({
  number: z.int().positive(),
  action: z.enum(["publish", "rollback", "prune"]),
  at: instant,
  session: z.string().optional().describe("The session that it made the head: 2026-11-21T00Z."),
  revision: z.int().positive().optional(),
  reason: z.string().nullable().optional(),
  manifest_sha256: digest.optional().describe("Of the snapshot's manifest, which names all files."),
  corrections: count.optional(),
  snapshots: z.array(z.string()).optional().describe("The snapshots that a prune took."),
  parts: z.array(z.string()).optional().describe("The parts of the ledger that a prune took."),
  previous: digest
    .nullable()
    .optional()
    .describe(
      "The SHA-256 of the bytes of the entry before; null: there is none. Entries of version 0.1.0 lack it; that of the first entry after them is the SHA-256 over all their bytes.",
    ),
  roots: z
    .object(perTier(() => digest.nullable()))
    .optional()
    .describe(
      "The SHA-256 of what /api/public/v1/sums answers to each tier; null: the snapshot has no sums.",
    ),
});

/** `/status.json`. */
export const status = z.object({
  head: z
    .object({
      publication: z.int().positive(),
      snapshot: z.string(),
      session_utc: instant,
      revision: z.int().positive(),
      published_at: instant.describe("When it was published, or rolled back to."),
    })
    .nullable()
    .describe("What is served; null: nothing."),
  overdue: count.describe("Sessions that should have been published and are not."),
  next_session_utc: instant.nullable().describe("The session after the one served."),
  sessions: z
    .array(
      z.object({
        session_utc: instant,
        published_at: instant.nullable().describe("When it was first published; null: never."),
        minutes_late: z
          .number()
          .nonnegative()
          .nullable()
          .describe("From the session's start to published_at, with one decimal."),
        missed: z
          .boolean()
          .describe("It was never published, and a later one was or its grace period is over."),
        revised: z.boolean().describe("It was published more than once."),
        rolled_back: z
          .boolean()
          .describe("It was published, and a rollback to an older session took it back."),
        snapshot: snapshotName("The snapshot that stands for it"),
      }),
    )
    .describe("The last 60, newest first, from the first one ever published to the present one."),
});

/** `/openapi.json`. */
export const openApi = z.looseObject({ openapi: z.string() });

/** `/healthz`. */
export const health = z.object({ status: z.literal("ok") });

/** `/readyz`, while it answers with 200. */
export const readiness = z.object({
  status: z.literal("ready"),
  snapshot: z.string(),
  session_utc: instant,
  publication: z.int().positive(),
  damaged: z
    .object({ publication: z.int().positive(), snapshot: z.string() })
    .nullable()
    .describe("The newest publication, where it cannot be loaded: `snapshot` is served instead."),
  attribution: z.string(),
  overdue: count.describe("Sessions that should have been published and are not."),
  clock: z
    .enum(["ok", "behind"])
    .describe("Whether the clock has reached the session served; if not, one of the two is wrong."),
  state: z.enum(["ok", "unavailable"]).describe("Accounts, keys and counts."),
  store: z
    .enum(["ok", "damaged", "unreachable"])
    .describe("Whether the newest publication could be loaded; if not, the one before is served."),
});

/** A problem document (RFC 9457). src/proxy/problems.ts lists the codes. */
export const problem = (codes: readonly [string, ...string[]]) =>
  z.object({
    type: z.string().describe("The problem's entry on the documentation page."),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    code: z.enum(codes),
    required_tier: z.enum(KEY_TIER_NAMES).optional().describe("With tier_required."),
    as_of: z.null().optional().describe("With not_on_board: there is no level so far."),
    errors: z
      .array(z.object({ parameter: z.string(), value: z.string(), detail: z.string() }))
      .optional()
      .describe("Faults of parameters, all of them."),
  });

function valueOf(column: Column): z.ZodType {
  const plain = {
    text: z.string(),
    url: z.url({ protocol: /^https?$/ }),
    decimal: column.whole === true ? z.int() : z.number(),
    date,
    instant,
  }[column.kind];
  const value = column.nullable === true ? plain.nullable() : plain;
  return (column.since === undefined ? value : value.optional()).describe(column.meaning);
}
