/**
 * The JSON payloads as zod schemas. Their bodies are objects of these types, the OpenAPI document is
 * generated from them, and tests check every answer against that document. The fields of records come
 * from the table of columns.
 */
import { z } from "zod";
import { EXCLUSION_REASONS, RANGES } from "../market/change.ts";
import { INDEX_BASE_LEVEL, WEIGHTINGS } from "../market/composite.ts";
import type { Written } from "../lib/json.ts";
import { COLUMNS, fieldOf, RECORD_COLUMNS, type BoardColumn } from "./columns.ts";
import { CHAINED_METHOD } from "../market/chained.ts";
import { COMPOSITE } from "../market/indices.ts";
import { SETTLED_KINDS } from "../market/settlements.ts";
import { BOARD_BASES } from "../market/series.ts";
import { SETTLEMENT_COLUMNS } from "./settlement-columns.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../market/tier.ts";

export const BASKET = "basket";

/** The object that is written where a schema describes the answer. */
export type Body<S extends z.ZodType> = Written<z.infer<S>>;

const instant = z.iso.datetime({ precision: 3 });
const date = z.iso.date();
const count = z.int().nonnegative();
/** A field that publications from before this version of the API lack: no reader may require it. */
const added = <S extends z.ZodType>(since: string, field: S): S => field.meta({ since });
const percent = (what: string) => z.number().nullable().describe(`${what}, percent; null: none.`);

/** The fields at the start of every payload. */
export const envelope = {
  session_utc: instant.describe("The 12-hour session of the payload (UTC)."),
  delayed_sessions: count.describe(
    "Sessions the data is behind the clock: the tier's delay and sessions that are overdue.",
  ),
  license: z.string().describe("The permitted use of the data."),
  attribution: z.string().describe("Credit line to display when using the data."),
};

/** The last member of the envelope, where the proxy adds it. */
const asked = {
  asked: z
    .array(
      z.object({
        asked: z.string().describe("As ids had it."),
        id: z.string().describe("The contract's id in this answer."),
      }),
    )
    .optional()
    .describe(
      "The ids that were asked for and that are no longer, or not yet, the contract's id. Only if there are any.",
    ),
};

const breakSchema = z
  .object({ session_utc: instant, reason: z.string() })
  .describe("From this session on, levels are not comparable with earlier ones.");

/** Bodies take these fields from the same table; of all others the compiler asks for each. */
const columnFields: object = Object.fromEntries(
  RECORD_COLUMNS.map((column) => [fieldOf(column), valueOf(column)]),
);
/** A row of the board's CSV. */
export const boardRow = z.object(
  Object.fromEntries(COLUMNS.map((column) => [column.name, valueOf(column)])),
);
const latestBreak = breakSchema.nullable().describe("The latest break; null: none.");

export const contractRecord = z.object({ ...columnFields, break: latestBreak });

/** `/prices`. */
export const board = z.object({
  ...envelope,
  ...asked,
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
  publication: added("1.0.0", count.positive().nullable()).describe(
    "The publication that brought it; null: an older version of the service published it.",
  ),
};
const historyFrom = added("1.0.0", date.nullable()).describe(
  "The first date that a history of the tier may have; null: the tier has no history.",
);
const CORRECTIONS = "Published levels that were changed later; null: no level.";

/** `/corrections`. */
export const corrections = z.object({
  ...envelope,
  ...asked,
  corrections: z
    .array(z.object({ contract_id: z.string(), ...correctionFields }))
    .describe(`${CORRECTIONS} Oldest corrected_in first.`),
});

/** Of a contract that may be off the boards. */
const lastFields: object = {
  ...columnFields,
  basis: z
    .enum([...BOARD_BASES, "discontinued"])
    .describe(
      "As on a board, or discontinued: the contract is off the boards, and this is its last level, without changes.",
    ),
};

/** `/prices/{id}`. */
export const contract = z.object({
  ...envelope,
  ...lastFields,
  break: latestBreak,
  references: added(
    "1.1.0",
    z.array(
      z.object({
        range: z.enum(RANGES),
        session_utc: instant
          .nullable()
          .describe(
            "The session of the level that the change compares with. Null: there is no change, or the level is older than the tier's history.",
          ),
        usd: z.number().positive().nullable().describe("That level. Null with session_utc."),
        change_pct: percent("Change from that level to the level in force"),
      }),
    ),
  ).describe(
    "The levels in force 24 hours, 7, 30 and 90 days and one calendar year earlier, by the rules of chg_24h_pct, chg_30d_pct and chg_yoy_pct. Empty if the tier has no history.",
  ),
  history_from: historyFrom,
  history: z
    .array(
      z.object({
        date,
        close_usd: z.number().positive(),
        session_utc: added("1.1.0", instant.optional()).describe(
          "The session of the level, if it is not 12:00 UTC of date.",
        ),
      }),
    )
    .describe("Daily closes, ascending, as deep as the tier; the last is the record's level."),
  breaks: z.array(
    breakSchema.extend({
      unit: added("1.1.0", z.string()).describe("The contract's unit before the break."),
      capacity_gb: added("1.1.0", z.number().positive().nullable()).describe(
        "Its capacity before the break, gigabytes; null: none.",
      ),
    }),
  ),
  rationale: z
    .string()
    .nullable()
    .describe("The judgement behind the level in force; null: not given."),
  max_carry_days: count.describe("How many days a level may be carried."),
  delisted_on: date
    .nullable()
    .describe("Off the boards from 00:00 UTC of this day on; null: listed."),
  corrections: z.array(z.object(correctionFields)).describe(CORRECTIONS),
});

const closeCount = z.object({
  count: z.int().nonnegative().describe("Closes in the tier's history."),
  first_month: z
    .string()
    .regex(/^[0-9]{4}-[0-9]{2}$/)
    .nullable()
    .describe("The month of the first one, such as 2022-06; null: there is none."),
});
export type CloseCounts = Partial<Readonly<Record<KeyTierName, z.infer<typeof closeCount>>>>;

/** How long the history of a contract is, by tier. A tier that an older version lacks has no member. */
export const closeCounts: z.ZodType<CloseCounts> = z.object(
  Object.fromEntries(KEY_TIER_NAMES.map((name) => [name, closeCount.optional()])),
);

/** How many closes `/sparklines` has of a contract and of a segment's index. */
export const SPARKLINE_CLOSES = 90;
/** How many closes it has of the composite: a year of them. */
export const COMPOSITE_CLOSES = 366;

/** `/sparklines`. */
export const sparklines = z.object({
  ...envelope,
  ...asked,
  sparklines: z
    .array(z.object({ id: z.string(), closes: z.array(z.number().positive()) }))
    .describe(
      `The last ${SPARKLINE_CLOSES} daily closes of each contract on the boards, ascending, in the order of the boards.`,
    ),
  days: added(
    "1.0.0",
    z.array(
      z.object({
        id: z.string(),
        days_ago: z
          .array(count)
          .describe("For each close, how many days it is before the day of session_utc."),
        breaks: z
          .array(count)
          .describe("Places, from 0, of closes that do not compare with the one before."),
      }),
    ),
  ).describe("Of the contracts that have breaks, or lack a close of one of the last days."),
  indices: added(
    "1.0.0",
    z.array(z.object({ id: z.string(), closes: z.array(z.number().nonnegative()) })),
  ).describe(
    `The last ${SPARKLINE_CLOSES} closes of each index, of the composite ${COMPOSITE_CLOSES}: one a UTC day, the last of series_date in /indices. None with ids or segment.`,
  ),
});

const WITHOUT_BASE = "Null only in a basket of quantities: the part has no base.";
const WITHOUT_LEVEL = "Null only in a basket of quantities: one of the parts has no base.";

const contribution = z.object({
  id: z.string(),
  ticker: z.string(),
  segment: z.string(),
  weight_pct: z.number().nonnegative().nullable().describe(WITHOUT_LEVEL),
  base_usd: z.number().positive().nullable().describe(WITHOUT_BASE),
  spot_usd: z.number().positive(),
  relative: z.number().nonnegative().nullable().describe(`spot_usd / base_usd. ${WITHOUT_BASE}`),
  contribution: z
    .number()
    .nullable()
    .describe(`Points of the level; they sum to level − 100. ${WITHOUT_LEVEL}`),
  contribution_24h_pct: z
    .number()
    .nullable()
    .describe(
      "Percentage points of chg_24h_pct. Null only in a basket of quantities: one of the parts has no cost_24h_usd.",
    ),
  basis: z.enum(BOARD_BASES).describe("Of the level in force, as on the board."),
  as_of: date.describe("Date of the level in force."),
  base_as_of: date.nullable().describe(`Date of the level of the base. ${WITHOUT_BASE}`),
});

const cost = (what: string, missing: string) =>
  z
    .number()
    .nonnegative()
    .nullable()
    .optional()
    .describe(`${what}, US dollars; only with quantities. Null: ${missing}`);

/** By the level in force and by the earlier ones. */
const costFields = (quantity: string, missing: string) => ({
  cost_usd: cost(`${quantity} × level in force`, missing),
  cost_base_usd: cost(`${quantity} × level of the base`, missing),
  cost_24h_usd: cost(`${quantity} × level of 24 hours earlier`, missing),
  cost_30d_usd: cost(`${quantity} × level of 30 days earlier`, missing),
});

const indexFields = {
  ...envelope,
  name: z.enum([COMPOSITE, BASKET]),
  weighting: z.enum(WEIGHTINGS),
  base: z
    .object({ date, session_utc: instant, level: z.literal(INDEX_BASE_LEVEL) })
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
  carried: count.describe(
    "How many constituents have no level for the session: their last one stands.",
  ),
  contributions: z.array(contribution),
  excluded: z
    .array(z.object({ id: z.string(), reason: z.enum(EXCLUSION_REASONS) }))
    .describe("Contracts on the board that are no constituents."),
};

/** `/index`, the composite or a basket. */
export const index = z.object({
  ...envelope,
  ...asked,
  ...indexFields,
  ...costFields("Sum of quantity", "a part has none."),
  without_base: z
    .array(z.object({ id: z.string(), reason: z.enum(EXCLUSION_REASONS) }))
    .optional()
    .describe("Parts without a base that compares: the level is null. Only with quantities."),
  like_for_like: z
    .object({
      parts: count.positive(),
      cost_usd: z.number().nonnegative(),
      cost_base_usd: z.number().nonnegative(),
      level: z.number().nonnegative().describe("100 × cost_usd / cost_base_usd, before rounding."),
    })
    .nullable()
    .optional()
    .describe(
      "The same over the parts with a base alone, so that the year can be compared although others lack one. Null: none has a base. Only with quantities.",
    ),
  contributions: z.array(
    contribution.extend({
      quantity: z
        .number()
        .positive()
        .optional()
        .describe("In the contract's unit; only with quantities."),
      ...costFields("Quantity", "the part has none."),
    }),
  ),
});

const SERIES_CLOSE =
  "A continuous series: 100 on its first day, then moved from day to day by the geometric mean of price relatives. A published close changes only by a revision of its session or by a restatement, so closes of all days compare.";

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
        formerly: added("1.1.0", z.array(z.string())).describe(
          "The ids that it had before, the oldest first. Each still finds it.",
        ),
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
      method: z.enum([CHAINED_METHOD]),
      base: z
        .object({ date, level: z.literal(INDEX_BASE_LEVEL) })
        .nullable()
        .describe(
          "The first day with a contract in force at 12:00 UTC; null: there is none so far.",
        ),
      link: added(
        "1.1.0",
        z
          .object({
            date,
            publication: count.positive().describe("The publication that made it."),
            levels: z
              .array(
                z.object({
                  id: z.string(),
                  session_utc: instant,
                  usd: z.number().positive(),
                  break: z.boolean().describe("Whether a break stood at this session then."),
                }),
              )
              .optional()
              .describe(
                "Only in tiers without delay: the levels that the series used on this day. Its next relatives compare with them.",
              ),
          })
          .nullable(),
      ).describe(
        "The day up to which an earlier version calculated the closes, or nobody knows the members. The value goes on from its close. Null: none.",
      ),
      restatements: added(
        "1.0.0",
        z.array(
          z.object({
            publication: count.positive(),
            reason: z.string(),
            from: added("1.1.0", date.describe("The first day whose close was calculated again.")),
            members: added(
              "1.1.0",
              z.boolean().describe("Whether the members of these days were given anew."),
            ),
          }),
        ),
      ).describe(
        "The publications that calculated published closes of this index again, oldest first, with their reasons.",
      ),
      adjustments: added(
        "1.1.0",
        z.array(
          z.object({
            date,
            publication: count.positive().describe("The publication that brought the close."),
            factor: z.number().nonnegative().describe("12 significant digits."),
          }),
        ),
      ).describe(
        "The closes whose move contains corrections of earlier days by more than one part in a million, and the factor that these make. The move divided by the factor is the move of prices.",
      ),
      value: added("1.1.0", z.number().nonnegative().nullable())
        .optional()
        .describe(
          "Only in tiers without delay: the value of the last day as known now, 12 significant digits. The next close is this, times the geometric mean of new levels to reference_usd. Null: the series has no close.",
        ),
      last_used: z
        .array(
          z.object({
            id: z.string(),
            session_utc: instant,
            usd: z.number().positive(),
            reference_usd: added(
              "1.1.0",
              z
                .number()
                .nonnegative()
                .describe(
                  "The level, moved with the index on the days since on which the contract was away; 12 significant digits.",
                ),
            ),
            away: added(
              "1.1.0",
              z.boolean().describe("Whether the contract was away on the day of the last close."),
            ),
          }),
        )
        .optional()
        .describe(
          "Only in tiers without delay: the level of each contract on the last day on which it was a member with a level in force. The next close moves by the geometric mean of the ratios of new levels to reference_usd.",
        ),
      changes: added(
        "1.1.0",
        z.array(
          z.object({
            range: z.enum(RANGES),
            date: date.describe("The day of the close that the last one is compared with."),
            close: z
              .number()
              .nonnegative()
              .nullable()
              .describe("Null: before the base, or beyond the tier's depth."),
            change_pct: percent("Change from that close to the last one"),
            contributions: z
              .array(z.object({ id: z.string(), points: z.number() }))
              .nullable()
              .describe(
                "Points of the change that each contract contributed, with the levels as known now. Null: without the close, or if the range begins before a link.",
              ),
            correction_points: z
              .number()
              .nullable()
              .describe(
                "The rest of the change: corrections of earlier closes that a close of the range brought. Null with contributions.",
              ),
          }),
        ),
      ).describe(
        "Changes from close to close over 24 hours, 7, 30 and 90 days and one calendar year. Empty: the series has no close.",
      ),
      history_from: historyFrom,
      history: z
        .array(z.object({ date, close: z.number().nonnegative() }))
        .describe("Each day at 12:00 UTC, ascending, as deep as the tier."),
    })
    .describe(SERIES_CLOSE),
});

/** Fields that the table of columns has. */
const settlementFields: object = Object.fromEntries(
  SETTLEMENT_COLUMNS.map(({ name, kind, shownDecimals, meaning, nullable }) => {
    const number = shownDecimals === 0 ? count : z.number().nonnegative();
    const plain = kind === "text" ? z.string() : number;
    return [name, (nullable === true ? plain.nullable() : plain).describe(meaning)];
  }),
);

export const settlement = z.object({ month: z.string(), ...settlementFields });

/** `/settlements/contracts/{id}` and `/settlements/indices/{id}`. */
export const settlements = z.object({
  ...envelope,
  kind: z.enum(SETTLED_KINDS),
  id: z.string().describe("Of the contract or the index."),
  settlements: z
    .array(settlement)
    .describe(
      "Months ascending, those that end within the tier's history. Figures are US dollars with 6 decimals, or index points with 4.",
    ),
});

function valueOf(column: BoardColumn): z.ZodType {
  const plain = {
    text: column.values === undefined ? z.string() : z.enum(column.values),
    url: z.url({ protocol: /^https?$/ }),
    decimal: column.shownDecimals === 0 ? z.int() : z.number(),
    date,
    instant,
  }[column.kind];
  const value = (column.nullable === true ? plain.nullable() : plain).describe(column.meaning);
  return column.since === undefined ? value : added(column.since, value);
}
