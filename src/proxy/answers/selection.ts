/** Selections: some lines of a published file, by `ids`, `segment`, `from`, `to`, `last` and `after`. */
import pLimit from "p-limit";
import type { Contract } from "../../market/contract.ts";
import { COMPOSITE, indexIdOf, indicesOf } from "../../market/indices.ts";
import { FIRST_DATE, parseDate } from "../../market/session.ts";
import type { Tier } from "../../market/tier.ts";
import { coded } from "../../snapshot/coded.ts";
import { isPublication, type Entry } from "../../snapshot/log/entry.ts";
import type { Subject } from "../../state/driver.ts";
import { snapshotText } from "../../store/paths.ts";
import { didYouMean } from "./near-ids.ts";
import { columnsOf, headerOf, selectedJson, selectedRecords, type Limits } from "./lines.ts";
import { deny, notInSnapshot, type Denial } from "../problems.ts";
import { fault, faultsDenial, readItems, valueOf, type Fault, type Query } from "../query.ts";
import { prefersGzip } from "../serve/intent.ts";
import type { Forms } from "../serve/entity.ts";
import type { PreparedFile } from "../serve/file.ts";
import type { ServedSnapshot } from "../serve/load.ts";
import { DATA_ROUTES, type DataRoute } from "../routes.ts";

const MAX_SEGMENTS = 20;
const MAX_LAST = 2_000;
/** Less is sent plain: coding would take longer than sending. */
const CODED_FROM_BYTES = 64 * 1024;
const AT_ONCE = 8;
/** Of one reader, made and waiting: more are refused. */
const EACH = 64;
const BUSY_RETRY_MS = 1_000;

/** A selection as a query names it; ids are not looked up yet. Null: not limited by it. */
export interface Selection extends Pick<Limits, "from" | "to" | "last"> {
  readonly ids: readonly string[] | null;
  readonly segments: readonly string[] | null;
  /** The number of an entry of the log. */
  readonly after: number | null;
  /** The same for each query that means the same lines. */
  readonly name: string;
}

/** Reads the selection that the query names, and adds its faults of form to `faults`. Null: none. */
export function readSelection(
  { selectedBy = [] }: DataRoute,
  query: Query,
  faults: Fault[],
): Selection | null {
  const given = query.filter(([name]) => selectedBy.some((parameter) => parameter.name === name));
  if (given.length === 0) return null;
  const list = (name: string, itemsMax?: number): string[] | null => {
    const text = valueOf(given, name);
    return text === undefined
      ? null
      : readItems(name, text, faults, itemsMax).flatMap((item) => item ?? []);
  };
  const ids = list("ids");
  const segments = list("segment", MAX_SEGMENTS);
  const refuse = (name: string, expected: string): null => {
    faults.push(fault("invalid_parameter", name, valueOf(given, name) as string, expected));
    return null;
  };
  if (ids !== null && segments !== null) refuse("segment", "expected ids or segment, not both");
  const date = (name: string): string | null => {
    const text = valueOf(given, name);
    if (text === undefined || parseDate(text) !== null) return text ?? null;
    return refuse(name, `expected a date such as 2026-11-21, from ${FIRST_DATE} on`);
  };
  const [from, to] = [date("from"), date("to")];
  if (from !== null && to !== null && from > to)
    refuse("from", `expected a date not after to, ${to}`);
  const number = (name: string, form: RegExp, max: number): number | null => {
    const text = valueOf(given, name);
    if (text === undefined) return null;
    if (form.test(text) && Number(text) <= max) return Number(text);
    const min = form.test("0") ? 0 : 1;
    return refuse(name, `expected a whole number from ${min} to ${max}`);
  };
  const last = number("last", /^[1-9]\d{0,3}$/, MAX_LAST);
  const after = number("after", /^(?:0|[1-9]\d{0,9})$/, 9_999_999_999);
  const named = given.map(([name, value]) => `${name}=${value.split(",").sort().join()}`);
  return { ids, segments, from, to, last, after, name: named.sort().join("&") };
}

/** Makes selections, a bounded number at once. */
export class Selections {
  readonly #limit = pLimit(AT_ONCE);
  readonly #readers: Subject[] = [];

  /**
   * The forms of the lines of the route's file at `path`, or the refusal. Throws DamageError and
   * UnreachableError.
   */
  async forms(
    selection: Selection,
    route: DataRoute,
    path: string,
    tier: Tier,
    snapshot: ServedSnapshot,
    entries: readonly Entry[],
    asked: {
      readonly reader: Subject;
      readonly overdue: number;
      readonly acceptEncoding: string | undefined;
    },
  ): Promise<Forms | Denial | null> {
    const limits = await limitsOf(selection, route, tier, snapshot, entries);
    if ("code" in limits) return limits;
    const { reader, overdue, acceptEncoding } = asked;
    if (this.#readers.filter((each) => each === reader).length >= EACH) {
      const detail = "Too many selections are made at the moment.";
      return deny("busy", detail, { retryAfterMs: BUSY_RETRY_MS });
    }
    this.#readers.push(reader);
    const made = this.#limit(async () => {
      const file = await snapshot.files.get(path, true);
      if (file === undefined || "code" in file) return file ?? null;
      const plain = Buffer.from(await linesOf(file, overdue, limits, "text" in route.body));
      const isCoded = plain.length > CODED_FROM_BYTES && prefersGzip(acceptEncoding);
      const code = isCoded ? await coded(plain) : null;
      return file.selection(overdue, selection.name, plain, code);
    });
    return made.finally(() => this.#readers.splice(this.#readers.indexOf(reader), 1));
  }
}

/** The text of the lines. Of a long file it reads only the parts that it needs, one after another. */
async function linesOf(
  file: PreparedFile,
  overdue: number,
  limits: Limits,
  isCsv: boolean,
): Promise<string> {
  if (!isCsv) return selectedJson(await file.text(overdue), limits);
  if (file.parts.length === 0) {
    const text = await file.text(overdue);
    const header = headerOf(text);
    return header + selectedRecords(text.slice(header.length), columnsOf(header), limits);
  }
  const { ids, from, to, last } = limits;
  const takesWholeParts = from === null && to === null && last === null;
  const header = await file.header();
  let lines = header;
  for (const part of file.parts) {
    if (ids !== null && !ids.has(part.id)) continue;
    const rows = await file.rowsOf(part);
    lines += takesWholeParts ? rows : selectedRecords(rows, columnsOf(header), limits);
  }
  return lines;
}

/** What the selection takes of a snapshot's file, or the refusal of its ids, all of one kind together. */
async function limitsOf(
  { ids, segments, from, to, last, after }: Selection,
  route: DataRoute,
  tier: Tier,
  snapshot: ServedSnapshot,
  entries: readonly Entry[],
): Promise<Limits | Denial> {
  const limits = {
    from,
    to,
    last,
    correctedBefore: after === null ? null : publishedUntil(after, entries),
  };
  if (ids === null && segments === null) return { ...limits, ids: null };
  const catalog = await snapshot.catalog();
  if (catalog === null) return notInSnapshot(snapshot.stamp.text);
  if ("code" in catalog) return catalog;
  if (segments !== null) {
    const chosen = catalog.filter(({ segment }) => segments.includes(indexIdOf(segment)));
    const denial = unknownIndices("segment", segments, catalog, [COMPOSITE]);
    return denial ?? { ...limits, ids: new Set(chosen.map(({ id }) => id)) };
  }
  const wanted = new Set(ids);
  const denial =
    route === DATA_ROUTES.indicesCsv
      ? unknownIndices("ids", [...wanted], catalog)
      : contractsDenial(wanted, catalog, route, tier, snapshot);
  return denial ?? { ...limits, ids: wanted };
}

/** The refusal of ids of indices; null: none. `others` are those that have no segment. */
function unknownIndices(
  parameter: string,
  ids: readonly string[],
  catalog: readonly Contract[],
  others: readonly string[] = [],
): Denial | null {
  const known = new Set(indicesOf(catalog).map(({ id }) => id));
  const unknown = ids.filter((id) => !known.has(id) || others.includes(id));
  const expected = `expected the id of ${others.length === 0 ? "an index" : "a segment's index"}`;
  return faultsDenial(unknown.map((id) => fault("unknown_index", parameter, id, expected)));
}

/** The refusal of ids of contracts; null: none. */
function contractsDenial(
  ids: ReadonlySet<string>,
  catalog: readonly Contract[],
  route: DataRoute,
  tier: Tier,
  { tiers }: ServedSnapshot,
): Denial | null {
  const found = catalog.filter(({ id }) => ids.has(id));
  if (found.length < ids.size) {
    const unknown = [...ids].filter((id) => !found.some((contract) => contract.id === id));
    return faultsDenial(unknownFaults(unknown, catalog, "of the catalog"));
  }
  const hidden = tier.coverage === "free-slice" ? found.find(({ free }) => !free) : undefined;
  if (hidden !== undefined) {
    const detail = `Contract "${hidden.id}" is not part of the free slice; it needs a key.`;
    return deny("key_required", detail);
  }
  if (route.hasBoards !== true) return null;
  const offBoard = tiers[tier.name]?.off_board.filter(({ id }) => ids.has(id)) ?? [];
  return faultsDenial(
    offBoard.map(({ id, as_of }) => ({
      ...fault("not_on_board", "ids", id, "has no current level"),
      as_of,
    })),
  );
}

/** How many unknown ids of a request get suggestions. */
const SUGGESTED_FOR = 3;

/** The faults of ids that no contract of the catalog has. */
export const unknownFaults = (
  unknown: readonly string[],
  catalog: readonly Contract[],
  where: string,
): Fault[] =>
  unknown.map((id, place) => {
    const near = place < SUGGESTED_FOR ? didYouMean(id, catalog) : [];
    const made = fault("unknown_contract", "ids", id, `expected the id of a contract ${where}`);
    return near.length === 0 ? made : { ...made, did_you_mean: near };
  });

/** The snapshots that entries up to `number` published. */
const publishedUntil = (number: number, entries: readonly Entry[]): ReadonlySet<string> =>
  new Set(
    entries
      .filter((entry) => isPublication(entry) && entry.number <= number)
      .map((entry) => snapshotText(entry as Parameters<typeof snapshotText>[0])),
  );
