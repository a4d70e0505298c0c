/**
 * `states.json`: of each index's series, the state that the snapshot began from and the one that it ended
 * with. A revision of the session begins from the first, a later session from the second. The closes are in
 * `indices.csv` of the fullest tier, except the closes of an index without contracts, which no tier has. A series
 * that a restatement left without closes has no base and no state.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { jsonText } from "../lib/json.ts";
import {
  closeOf,
  decimalOf,
  type ChainedSeries,
  type SeriesState,
  type UsedLevel,
} from "../market/chained.ts";
import { microsOf, unitsOf } from "../market/decimal.ts";
import type { IndexSeries, SeriesByIndex } from "../market/published-series.ts";
import { dateText, parseDate, sessionUtc, type Day } from "../market/session.ts";
import { sessionField } from "./stored-fields.ts";

const day = z.iso.date().transform((text) => parseDate(text) as Day);

/** A close in its decimals. */
const close = z.codec(z.string().regex(/^\d+(?:\.\d{1,4})?$/), z.number(), {
  decode: closeOf,
  encode: decimalOf,
});

const state = z.object({
  /** The day of the last close, and the close. */
  date: day,
  close,
  used: z.array(
    z.object({ id: z.string(), session_utc: sessionField, usd: z.number().positive() }),
  ),
});

const fileSchema = z.array(
  z.object({
    id: z.string(),
    base: day.nullable(),
    restatements: z.array(z.object({ publication: z.int().positive(), reason: z.string() })),
    began: state.nullable(),
    ended: state.nullable(),
    /** Up to the date of `ended`; null: `indices.csv` has them, if there are some. */
    closes: z.array(close).nullable(),
  }),
);

/** The levels that a series used last, as files and payloads list them. */
export const usedFields = (used: Iterable<[string, UsedLevel]>) =>
  Array.from(used, ([id, { session, usd }]) => ({
    id,
    session_utc: sessionUtc(session),
    usd: unitsOf(usd),
  }));

const stateFields = ({ last, close: lastClose, used }: SeriesState) => ({
  date: dateText(last),
  close: decimalOf(lastClose),
  used: usedFields(used),
});

/** The closes of a series, one a day, up to the day `last`. */
export type Closes = Pick<ChainedSeries, "last" | "closes">;

/** An apostrophe makes text of an id that begins with a minus. */
const ROW = /^'?([a-z0-9-]+),(\d{4}-\d{2}-\d{2}),(\d+(?:\.\d{1,4})?)$/;

/** Reads `indices.csv`: the closes by the id of the index. Throws DamageError, naming `where`. */
export function parseCloses(bytes: Buffer, where: string): ReadonlyMap<string, Closes> {
  const found = new Map<string, { last: Day; closes: number[] }>();
  for (const line of bytes.toString("utf8").trimEnd().split("\r\n").slice(1)) {
    const [, id, date = "", text = ""] = ROW.exec(line) ?? [];
    const last = parseDate(date);
    const own = found.get(id ?? "");
    if (id === undefined || last === null || (own !== undefined && last !== own.last + 1)) {
      throw new DamageError(`${where} is not a list of closes, each of the day after: ${line}`);
    }
    if (own === undefined) {
      found.set(id, { last, closes: [closeOf(text)] });
    } else {
      own.closes.push(closeOf(text));
      own.last = last;
    }
  }
  return new Map(
    [...found].map(([id, { last, closes }]) => [id, { last, closes: Float64Array.from(closes) }]),
  );
}

/** The text of the file. `isListed` says whether the catalog has contracts of the index. */
export const renderStates = (series: SeriesByIndex, isListed: (id: string) => boolean): string =>
  jsonText(
    Array.from(series, ([id, { chained, began, restatements }]) => ({
      id,
      base: chained && dateText(chained.base),
      restatements,
      began: began && stateFields(began),
      ended: chained && stateFields(chained),
      closes: isListed(id) ? null : Array.from(chained?.closes ?? [], decimalOf),
    })),
  );

/**
 * Reads the file. `listed` are the closes that `indices.csv` has. Throws DamageError, naming `where`, if it is
 * no list of states, or one without closes.
 */
export function parseStates(
  bytes: Buffer,
  where: string,
  listed: ReadonlyMap<string, Closes>,
): SeriesByIndex {
  try {
    const items = fileSchema.parse(JSON.parse(bytes.toString("utf8")));
    return new Map(
      items.map(({ id, base, restatements, began, ended, closes }): [string, IndexSeries] => {
        const end = ended && stateIn(ended);
        const own = closes === null || end === null ? listed.get(id) : { last: end.last, closes };
        if (own?.last !== end?.last) throw new Error(`The last close of ${id} is of another day`);
        if (end === null || own === undefined || base === null) {
          return [id, { chained: null, began: null, restatements }];
        }
        const chained = { ...end, base, closes: Float64Array.from(own.closes) };
        return [id, { chained, began: began && stateIn(began), restatements }];
      }),
    );
  } catch (cause) {
    throw new DamageError(`${where} is not a list of series' states`, [], { cause });
  }
}

const stateIn = ({ date, close: lastClose, used }: z.infer<typeof state>): SeriesState => ({
  last: date,
  close: lastClose,
  used: new Map(
    used.map(({ id, session_utc, usd }) => [id, { session: session_utc, usd: microsOf(usd) }]),
  ),
});
