/**
 * What snapshots of formats 3 and 4 have of their series: closes in `indices.csv`, and, in format 4, the levels
 * that each series used last in `states.json`.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { microsOf, type Micros } from "../market/decimal.ts";
import { parseDate, type Day, type Session } from "../market/session.ts";
import { dayField, sessionField } from "./stored-fields.ts";

const state = z.object({
  /** The day of the last close. */
  date: dayField,
  used: z.array(
    z.object({ id: z.string(), session_utc: sessionField, usd: z.number().positive() }),
  ),
});

const fileSchema = z.array(
  z.object({
    id: z.string(),
    base: dayField.nullable(),
    restatements: z.array(z.object({ publication: z.int().positive(), reason: z.string() })),
    /** Null: it has no close any more. */
    ended: state.nullable(),
    /** Up to the date of `ended`; null: `indices.csv` has them. */
    closes: z.array(z.string().transform(Number)).nullable(),
  }),
);

/** The closes of a series in index points, one a day, up to the day `last`. */
export interface Closes {
  readonly last: Day;
  readonly closes: readonly number[];
}

/** A level that a series used last. */
interface UsedLevel {
  readonly session: Session;
  readonly usd: Micros;
}

/** A series as it ended. */
export interface SeriesState {
  readonly restatements: readonly { readonly publication: number; readonly reason: string }[];
  /** Null: it has no close any more. */
  readonly ended:
    | (Closes & { readonly base: Day; readonly used: ReadonlyMap<string, UsedLevel> })
    | null;
}

/** An apostrophe makes text of an id that begins with a minus. Format 5 has a column more. */
const ROW = /^'?([a-z0-9-]+),(\d{4}-\d{2}-\d{2}),(\d+(?:\.\d{1,4})?)(?:,\d*)?$/;

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
      found.set(id, { last, closes: [Number(text)] });
    } else {
      own.closes.push(Number(text));
      own.last = last;
    }
  }
  return found;
}

/**
 * Reads `states.json`. `listed` are the closes that `indices.csv` has. Throws DamageError, naming `where`, if it is
 * no list of states, or one without closes.
 */
export function parseStates(
  bytes: Buffer,
  where: string,
  listed: ReadonlyMap<string, Closes>,
): ReadonlyMap<string, SeriesState> {
  try {
    const items = fileSchema.parse(JSON.parse(bytes.toString("utf8")));
    return new Map(
      items.map(({ id, base, restatements, ended, closes }): [string, SeriesState] => {
        const own =
          closes === null || ended === null ? listed.get(id) : { last: ended.date, closes };
        if (own?.last !== ended?.date) throw new Error(`The last close of ${id} is of another day`);
        if (ended === null || own === undefined || base === null) {
          return [id, { ended: null, restatements }];
        }
        const used = ended.used.map((level): [string, UsedLevel] => [
          level.id,
          { session: level.session_utc, usd: microsOf(level.usd) },
        ]);
        return [id, { ended: { ...own, base, used: new Map(used) }, restatements }];
      }),
    );
  } catch (cause) {
    throw new DamageError(`${where} is not a list of series' states`, [], { cause });
  }
}
