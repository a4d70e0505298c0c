/** Selections: some lines of a published file, by `ids`, `segment`, `from`, `to`, `last`, `after` and `since`. */
import type { Place } from "../../lib/turns.ts";
import type { Contract } from "../../market/contract.ts";
import { COMPOSITE } from "../../market/indices.ts";
import { dateText, FIRST_DATE, lastDayOf, parseDate, parseMonth } from "../../market/session.ts";
import type { Tier } from "../../market/tier.ts";
import { withAsked, type AskedId } from "../../render/envelope.ts";
import { joined, sizeOf, utf8 } from "../../lib/bytes.ts";
import type { Platform } from "../../ports/platform.ts";
import { fieldIn } from "../ask.ts";
import type { Asked, Content } from "../outcome.ts";
import {
  askedField,
  askedOf,
  findFormerIndex,
  findIndex,
  indicesIn,
  knownContracts,
  lookUp,
  offBoardFaults,
  sliceDenial,
  type KnownIndex,
} from "./known-ids.ts";
import { newestNumberAt } from "./vintage.ts";
import { headerOf, selectJson, selectRecords, type Limits } from "./lines.ts";
import { MAX_SEGMENTS } from "../../lib/limits.ts";
import { unknownContracts, unknownIndices } from "./near-ids.ts";
import { BUSY, isDenial, type Denial } from "../../public/problems.ts";
import {
  faultsDenial,
  invalid,
  readItems,
  readWhole,
  valueOf,
  type Fault,
  type Query,
} from "../../public/query.ts";
import { overdueSessions } from "../serve/freshness.ts";
import { prefersGzip } from "../serve/intent.ts";
import type { Forms } from "../serve/entity.ts";
import type { Chosen, PreparedFile } from "../serve/served-file.ts";
import { QUICK_BYTES_MAX } from "../serve/stream.ts";
import type { Keep, LogView, ServedSnapshot } from "../world.ts";
import { isByMonth, namesBoth, namesIndices, type DataRoute } from "../../public/routes.ts";
import { AFTER_MAX } from "../../public/uncounted-routes.ts";

const MAX_LAST = 2_000;
const IN_CATALOG = "expected the id of a contract of the catalog; /contracts lists all ids";
const IN_EITHER =
  "expected the id of a contract of the catalog or of an index; /contracts and /indices list all ids";
/** Less is sent plain: coding would take longer than sending. */
const CODED_FROM_BYTES = 64 * 1024;
/** Lines of a long file become bytes when they are so many characters. */
const PIECE_CHARACTERS = 64 * 1024;
/** Callers repeat small ones. */
const REMEMBERED_BYTES_MAX = 16 * 1024;

/** A selection as a query names it; ids are not looked up yet. Null: not limited by it. */
export interface Selection extends Pick<Limits, "from" | "to" | "last"> {
  readonly ids: readonly string[] | null;
  readonly segments: readonly string[] | null;
  /** The number of an entry of the log. */
  readonly after: number | null;
  /** A date: only rows that were first published on it or later. */
  readonly since: string | null;
  /** The last date of `to`. */
  readonly lastDate: string | null;
  /** The same for each query that means the same lines. */
  readonly name: string;
}

/** Reads the selection that the query names, and adds its faults of form to `faults`. Null: none. */
export function readSelection(route: DataRoute, query: Query, faults: Fault[]): Selection | null {
  const { selectedBy = [] } = route;
  const given = query.filter(([name]) => selectedBy.some((parameter) => parameter.name === name));
  if (given.length === 0) return null;
  const ids = readItems(given, "ids", faults);
  const segments = readItems(given, "segment", faults, MAX_SEGMENTS);
  const refuse = (name: string, expected: string): null => {
    faults.push(invalid(name, valueOf(given, name) as string, expected));
    return null;
  };
  if (ids !== null && segments !== null) refuse("segment", "expected ids or segment, not both");
  const date = (name: string): string | null => {
    const text = valueOf(given, name);
    if (text === undefined || parseDate(text) !== null) return text ?? null;
    return refuse(name, `expected a date such as 2026-11-21, from ${FIRST_DATE} on`);
  };
  const month = (name: string): string | null => {
    const text = valueOf(given, name);
    if (text === undefined || parseMonth(text) !== null) return text ?? null;
    return refuse(name, "expected a month such as 2026-10");
  };
  const [what, read] = isByMonth(route) ? ["month", month] : ["date", date];
  const [from, to] = [read("from"), read("to")];
  if (from !== null && to !== null && from > to)
    refuse("from", `expected a ${what} not after to, ${to}`);
  const lastDate = to !== null && isByMonth(route) ? dateText(lastDayOf(to)) : to;
  const last = readWhole(given, "last", 1, MAX_LAST, faults);
  const after = readWhole(given, "after", 0, AFTER_MAX, faults);
  const since = date("since");
  const isEither = ["after", "since"].every((name) => valueOf(given, name) !== undefined);
  if (isEither) refuse("since", "expected after or since, not both");
  const named = given.map(([name, value]) => JSON.stringify([name, ...value.split(",").sort()]));
  return { ids, segments, from, to, last, after, since, lastDate, name: named.sort().join() };
}

/** The lines of the file within the limits. They are made later, and then kept if they are few. */
export function selectLines(
  { name }: Selection,
  limits: NamedLimits,
  route: DataRoute,
  file: PreparedFile,
  snapshot: ServedSnapshot,
  { nowMs, headers }: Asked,
  place: Place,
  platform: Platform,
  keep: Keep | null,
): Content {
  const overdue = overdueSessions(snapshot.stamp, nowMs);
  const isCsv = "text" in route.body;
  const { asked } = limits;
  const chosen: Chosen = {
    name,
    fields: isCsv && asked.length > 0 ? { "x-asked": askedField(asked) } : {},
  };
  const make = async (): Promise<Forms | Denial> => {
    const plain = await piecesOf(file, overdue, limits, isCsv, place);
    if (plain === null) return BUSY;
    const sizeBytes = sizeOf(plain);
    const isCoded =
      sizeBytes > CODED_FROM_BYTES && prefersGzip(fieldIn(headers, "accept-encoding"));
    const code = isCoded ? await platform.gzip(joined(plain), "fast") : null;
    const forms = file.selection(overdue, chosen, plain, code);
    const isShared = sizeBytes <= REMEMBERED_BYTES_MAX && keep !== null;
    if (isShared) keep(forms);
    return place.hold(isShared ? 0 : (code?.length ?? sizeBytes)) ? forms : BUSY;
  };
  // Of an old snapshot the store has to be read.
  const isOld = keep === null;
  const isLaborious = isOld || workOf(file, limits.ids) > QUICK_BYTES_MAX;
  return {
    kind: "deferred",
    tags: file.tags(overdue, chosen),
    isLaborious,
    make: () => (isLaborious ? place.run(make) : make()),
  };
}

/** How many plain bytes have to be looked at for these ids. */
const workOf = (file: PreparedFile, ids: Limits["ids"]): number =>
  file.parts.length === 0
    ? file.sizeBytes
    : file.parts.reduce((sum, { id, bytes }) => sum + (ids?.has(id) === false ? 0 : bytes), 0);

/**
 * The lines, in pieces, which the place holds. Of a long file it reads only the parts that it needs, one after another.
 * Null: they are more than the place may hold.
 */
async function piecesOf(
  file: PreparedFile,
  overdue: number,
  limits: Limits & { readonly asked: readonly AskedId[] },
  isCsv: boolean,
  place: Place,
): Promise<readonly Uint8Array[] | null> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const hold = (text: string): boolean => {
    const piece = utf8(text);
    pieces.push(piece);
    bytes += piece.length;
    return place.hold(bytes);
  };
  if (!isCsv || file.parts.length === 0) {
    const text = await file.text(overdue, place);
    const header = isCsv ? headerOf(text) : "";
    const lines = isCsv
      ? header + selectRecords(header, text.slice(header.length), limits)
      : withAsked(selectJson(text, limits), limits.asked);
    return hold(lines) ? pieces : null;
  }
  const { ids, from, to, last } = limits;
  const takesWholeParts = from === null && to === null && last === null;
  const header = await file.header(place);
  let lines = header;
  for (const part of file.parts) {
    if (ids !== null && !ids.has(part.id)) continue;
    const rows = await file.rowsOf(part, place);
    lines += takesWholeParts ? rows : selectRecords(header, rows, limits);
    if (lines.length < PIECE_CHARACTERS) continue;
    if (!hold(lines)) return null;
    lines = "";
  }
  return lines === "" || hold(lines) ? pieces : null;
}

/** Limits with the ids that the snapshot knows by another id. */
type NamedLimits = Limits & { readonly asked: readonly AskedId[] };

/**
 * What the selection takes of a snapshot's file, or the refusal of its ids, all of one kind together. Throws
 * DamageError and UnreachableError.
 */
export async function limitsOf(
  selection: Selection,
  route: DataRoute,
  tier: Tier,
  snapshot: ServedSnapshot,
  head: ServedSnapshot,
  log: LogView,
  place: Place,
): Promise<NamedLimits | Denial> {
  const { ids, segments, since } = selection;
  const items = ids ?? segments;
  const after = since === null ? selection.after : newestNumberBefore(since, log);
  const wasCorrected = (snapshot: string): boolean =>
    after !== null && log.isPublishedBy(snapshot, after);
  const correctedBefore = after === null ? null : wasCorrected;
  const limits = { ...selection, correctedBefore, asked: [] };
  if (items === null) return { ...limits, ids: null };
  const contracts = await knownContracts(snapshot, head, place);
  if (isDenial(contracts)) return contracts;
  const { catalog } = contracts;
  if (segments !== null) {
    const segmentOf = (item: string): KnownIndex | undefined => {
      const index = findIndex(catalog, item) ?? findFormerIndex(catalog, item);
      return index?.id === COMPOSITE ? undefined : index;
    };
    const { found, unknown, faults } = lookUp("segment", items, segmentOf);
    const denial = faultsDenial([...faults, ...unknownIndices(unknown, catalog, "segment")]);
    const chosen = [...found.values()];
    const has = (id: string): boolean => chosen.some(({ members }) => members.has(id));
    return denial ?? { ...limits, ids: { has } };
  }
  const indexOf = (id: string): KnownIndex | undefined => {
    const { byId, byFormerId } = indicesIn(catalog);
    return byId.get(id) ?? byFormerId.get(id);
  };
  // The order of ids in the query changes neither lines nor tag.
  const inOrder = (asked: AskedId[]) => asked.sort((a, b) => (a.asked < b.asked ? -1 : 1));
  if (namesIndices(route)) {
    const { found, unknown, faults } = lookUp("ids", items, indexOf);
    const denial = faultsDenial([...faults, ...unknownIndices(unknown, catalog, "ids")]);
    const own = new Set([...found.values()].map(({ id }) => id));
    return denial ?? { ...limits, ids: own, asked: inOrder(askedOf(found)) };
  }
  const { found, unknown, faults } = lookUp("ids", items, contracts.find);
  const indices = namesBoth(route)
    ? lookUp("ids", items, indexOf)
    : { found: new Map<string, KnownIndex>(), faults: [] };
  const others = unknown.filter((id) => !indices.found.has(id));
  const expected = namesBoth(route) ? IN_EITHER : IN_CATALOG;
  const denial =
    faultsDenial([...faults, ...indices.faults, ...unknownContracts(others, catalog, expected)]) ??
    contractsDenial(found, route, tier, snapshot);
  const asked = inOrder([...askedOf(found), ...askedOf(indices.found)]);
  const own = [...found.values()].map(({ id }) => id);
  const named = [
    ...own.map((id) => `contract ${id}`),
    ...[...indices.found.values()].map(({ id }) => `index ${id}`),
  ];
  return denial ?? { ...limits, ids: new Set(namesBoth(route) ? named : own), asked };
}

/** The number of the newest entry before the date, UTC. */
const newestNumberBefore = (date: string, { entries }: LogView): number =>
  newestNumberAt(Date.parse(date) - 1, entries);

/** The refusal of contracts that the tier or the file does not have; null: none. */
function contractsDenial(
  found: ReadonlyMap<string, Contract>,
  route: DataRoute,
  tier: Tier,
  snapshot: ServedSnapshot,
): Denial | null {
  for (const contract of found.values()) {
    const denial = sliceDenial(contract, tier);
    if (denial !== null) return denial;
  }
  return route.hasBoards === true ? faultsDenial(offBoardFaults(found, tier, snapshot)) : null;
}
