/**
 * `series.json`: of each index, the members of each day, the values behind its closes, its link and its
 * restatements. The next publication goes on from it; it is never served.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { jsonText } from "../lib/json.ts";
import { firstCloseDay, type ChainedSeries, type PublishedClose } from "../market/chained.ts";
import { microsOf, unitsOf } from "../market/decimal.ts";
import type { KeptLevel, Link, Term } from "../market/members.ts";
import type {
  SeriesByIndex,
  StoredIndexSeries,
  StoredSeriesByIndex,
} from "../market/published-series.ts";
import { dateText, sessionUtc } from "../market/session.ts";
import { dayField, sessionField } from "./stored-fields.ts";

const levelSchema = z.object({
  id: z.string(),
  session_utc: sessionField,
  usd: z.number().positive(),
  break: z.boolean(),
});

const seriesSchema = z.object({
  base: dayField,
  last: dayField,
  kept: z.object({ from: dayField, to: dayField }).nullable(),
  value: z.number(),
  link: z
    .object({
      date: dayField,
      publication: z.int().positive(),
      value: z.number(),
      levels: z.array(levelSchema),
    })
    .nullable(),
  /** Of each contract: first and last day, and carry limit in days. */
  members: z.array(
    z.object({
      id: z.string(),
      terms: z.array(z.tuple([dayField, dayField, z.int().nonnegative()])),
    }),
  ),
  /** The values that were published as closes, one a day up to `last`. */
  values: z.array(z.number().nonnegative()),
  /** For each of these, the entry that calculated it; 0: up to the link. */
  known_from: z.array(z.int().nonnegative()),
  /** Where it is not the value of the day before: the value that this entry had for that day. */
  before: z.array(z.object({ date: dayField, value: z.number().nonnegative() })),
});

const fileSchema = z.array(
  z.object({
    id: z.string(),
    restatements: z.array(
      z.object({
        publication: z.int().positive(),
        reason: z.string(),
        from: dayField,
        members: z.boolean(),
      }),
    ),
    /** Null: it has no close any more. */
    series: seriesSchema.nullable(),
  }),
);

/** The levels that a link keeps, as files and answers have them. */
export const linkLevels = ({ levels }: Link) =>
  Array.from(levels, ([id, { session, usd, isBreak }]) => ({
    id,
    session_utc: sessionUtc(session),
    usd: unitsOf(usd),
    break: isBreak,
  }));

const linkFields = (link: Link) => ({
  date: dateText(link.date),
  publication: link.publication,
  value: link.value,
  levels: linkLevels(link),
});

function seriesFields(series: ChainedSeries) {
  const { base, last, kept, value, link, members, closes } = series;
  const first = firstCloseDay(series);
  return {
    base: dateText(base),
    last: dateText(last),
    kept: kept && { from: dateText(kept.from), to: dateText(kept.to) },
    value,
    link: link && linkFields(link),
    members: Array.from(members, ([id, terms]) => ({
      id,
      terms: terms.map(({ from, to, maxCarryDays }) => [
        dateText(from),
        dateText(to),
        maxCarryDays,
      ]),
    })),
    values: closes.map((close) => close.value),
    known_from: closes.map(({ knownFrom }) => knownFrom ?? 0),
    before: closes.flatMap(({ before }, at) =>
      before === (closes[at - 1] ?? closes[at])?.value
        ? []
        : [{ date: dateText(first + at), value: before }],
    ),
  };
}

/** The text of the file. */
export const renderSeries = (series: SeriesByIndex): string =>
  jsonText(
    Array.from(series, ([id, { chained, restatements }]) => ({
      id,
      restatements: restatements.map((item) => ({ ...item, from: dateText(item.from) })),
      series: chained && seriesFields(chained),
    })),
  );

/** Reads the file. Throws DamageError, naming `where`, if it has no series. */
export function parseSeries(bytes: Buffer, where: string): StoredSeriesByIndex {
  try {
    const items = fileSchema.parse(JSON.parse(bytes.toString("utf8")));
    return new Map(
      items.map(({ id, restatements, series }): [string, StoredIndexSeries] => [
        id,
        { restatements, chained: series && seriesIn(series) },
      ]),
    );
  } catch (cause) {
    throw new DamageError(`${where} is not a list of series`, [], { cause });
  }
}

function seriesIn(fields: z.infer<typeof seriesSchema>): ChainedSeries {
  const { values, known_from, members, link, ...others } = fields;
  if (values.length !== known_from.length) throw new Error("A close has no entry that knows it");
  const first = others.last + 1 - values.length;
  const befores = new Map(others.before.map(({ date, value }) => [date, value]));
  const closes = values.map((value, at): PublishedClose => ({
    value,
    before: befores.get(first + at) ?? values[at - 1] ?? value,
    knownFrom: known_from[at] || null,
  }));
  return {
    ...others,
    closes,
    link: link && {
      ...link,
      levels: new Map(
        link.levels.map(({ id, session_utc, usd, break: isBreak }): [string, KeptLevel] => [
          id,
          { session: session_utc, usd: microsOf(usd), isBreak },
        ]),
      ),
    },
    members: new Map(
      members.map(({ id, terms }): [string, Term[]] => [
        id,
        terms.map(([from, to, maxCarryDays]) => ({ from, to, maxCarryDays })),
      ]),
    ),
  };
}
