/** The list of publications: its parameters and its body. */
import type { z } from "zod";
import { joined, utf8 } from "../../lib/bytes.ts";
import { sessionUtc } from "../../market/session.ts";
import { isPublication, type Entry } from "../../snapshot/log/entry.ts";
import { snapshotText } from "../../store/paths.ts";
import type { Denial } from "../../public/problems.ts";
import { faultsDenial, nameFaults, readWhole, type Query } from "../../public/query.ts";
import { parametersOf } from "../../public/routes.ts";
import type { publications } from "../../public/answer-schemas.ts";
import {
  AFTER_MAX,
  LIMIT_DEFAULT,
  LIMIT_MAX,
  UNCOUNTED_ROUTES,
} from "../../public/uncounted-routes.ts";

const PARAMETERS = parametersOf(UNCOUNTED_ROUTES.publications);

/** A page of the list: the first `limit` entries after the number `after`; null: the newest ones. */
export interface PageQuery {
  readonly after: number | null;
  readonly limit: number;
}

export const isNewestPage = ({ after, limit }: PageQuery): boolean =>
  after === null && limit === LIMIT_DEFAULT;

export function readPageQuery(query: Query): PageQuery | Denial {
  const faults = nameFaults(query, PARAMETERS);
  const after = readWhole(query, "after", 0, AFTER_MAX, faults);
  const limit = readWhole(query, "limit", 1, LIMIT_MAX, faults) ?? LIMIT_DEFAULT;
  return faultsDenial(faults) ?? { after, limit };
}

/** A page: numbers of entries, both included; `last` is below `first` where there are none. */
export interface ListPage {
  readonly first: number;
  readonly last: number;
  /** The `after` of the next page; null: there are no newer entries. */
  readonly next: number | null;
}

/** The page of a log whose newest entry is `newest`. */
export function pageOf(newest: number, { after, limit }: PageQuery): ListPage {
  const first = after === null ? Math.max(1, newest - limit + 1) : after + 1;
  const last = Math.min(newest, first + limit - 1);
  return { first, last, next: first <= last && last < newest ? last : null };
}

/** The JSON of entries, one after another with commas between, and where the JSON of each number lies. */
export interface ListRows {
  readonly bytes: Uint8Array;
  readonly places: ReadonlyMap<number, { readonly start: number; readonly end: number }>;
}

export function rowsOf(entries: readonly Entry[]): ListRows {
  const places = new Map<number, { start: number; end: number }>();
  let start = 0;
  const rows = entries.map((entry) => {
    const row = utf8(`${rowText(entry)},`);
    places.set(entry.number, { start, end: start + row.length - 1 });
    start += row.length;
    return row;
  });
  return { bytes: joined(rows), places };
}

const BODY_START = utf8('{"publications":[');

/** The body of `/publications`: the page's part of the rows is not copied. The rows have all of it. */
export function listBody(
  { bytes, places }: ListRows,
  { first, last, next }: ListPage,
): Uint8Array[] {
  const start = places.get(first)?.start ?? bytes.length;
  const end = places.get(last)?.end ?? 0;
  return [BODY_START, bytes.subarray(start, end), utf8(`],"next":${next}}\n`)];
}

function rowText(entry: Entry): string {
  const { number, at, action } = entry;
  const made = isPublication(entry) ? entry : null;
  const row: z.infer<typeof publications>["publications"][number] = {
    number,
    at,
    action,
    snapshot: made && snapshotText(made),
    session_utc: made && sessionUtc(made.session),
    revision: made && made.revision,
    reason: made && made.reason,
    corrections: made && made.corrections,
  };
  return JSON.stringify(row);
}
