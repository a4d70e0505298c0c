/**
 * The lines of published files: which of them a selection takes. Each stays as it stands in the file, in
 * its order; only the comma after the last element of an array goes. In CSV a line is a record: a quoted
 * field may hold line breaks.
 */

/** What a selection takes of a file; null: no such limit. Dates are texts such as `2026-11-21`, months `2026-11`. */
export interface Limits {
  /** Ids of contracts or of indices; of a file with both, each after its kind: `contract ddr5-16gb`. */
  readonly ids: Pick<ReadonlySet<string>, "has"> | null;
  readonly from: string | null;
  readonly to: string | null;
  /** The last so many lines of each contract or index, after `from` and `to`. */
  readonly last: number | null;
  /** Whether corrections of a snapshot are left out. */
  readonly correctedBefore: ((snapshot: string) => boolean) | null;
}

const DATE_CHARACTERS = "2026-11-21".length;

const isWithin = (date: string, limits: Pick<Limits, "from" | "to">): boolean =>
  touches(date, date, limits);

/** Whether an interval has a day within the limits. An empty end is none. */
const touches = (begin: string, end: string, { from, to }: Pick<Limits, "from" | "to">): boolean =>
  (from === null || end === "" || end >= from) && (to === null || begin <= to);

/** A payload: every element of an array that stands in no other one has its own line. */
export function selectJson(text: string, limits: Limits): string {
  // Breaks, which come after a history, go with the dates sent of it.
  let window: Pick<Limits, "from" | "to"> | null = limits;
  const counts: Record<string, number> = {};
  const [end, ...arrays] = text.split("\n]").reverse();
  const selected = arrays.reverse().map((piece) => {
    const at = piece.indexOf("[\n") + 1;
    const head = piece.slice(0, at);
    const name = /"(\w+)":\[$/.exec(head)?.[1] as string;
    const elements = piece.slice(at + 1).split("\n");
    const chosen = selectElements(name, elements, window, limits);
    if (name === "history") {
      const [first] = chosen;
      window = first === undefined ? null : { from: leadOf(first), to: limits.to };
    }
    counts[name] = chosen.length;
    return chosen.length === 0 ? head : `${head}\n${chosen.map(withoutComma).join(",\n")}\n`;
  });
  return [...selected, end].join("]").replace(/"counts":\{([^}]*)\}/, (_all, was: string) => {
    const names = Object.keys(JSON.parse(`{${was}}`) as object);
    return `"counts":{${names.map((each) => `"${each}":${counts[each] ?? 0}`).join(",")}}`;
  });
}

/** `window` null: no date is sent. */
function selectElements(
  name: string,
  elements: readonly string[],
  window: Pick<Limits, "from" | "to"> | null,
  { ids, from, to, last, correctedBefore }: Limits,
): readonly string[] {
  if (ids !== null || correctedBefore !== null) {
    // These are ids of contracts, and an index may have the same id.
    if (name === "indices") return [];
    return elements.filter(
      (line) =>
        (ids?.has(leadOf(line)) ?? true) && !(correctedBefore?.(correctedIn(line)) ?? false),
    );
  }
  const within = (dates: Pick<Limits, "from" | "to">): readonly string[] =>
    elements.filter((line) => isWithin(leadOf(line).slice(0, DATE_CHARACTERS), dates));
  // A reader who asks for the newest closes must also hear of corrections of older ones.
  if (name === "corrections") return within({ from: null, to });
  if (name === "breaks") return window === null ? [] : within(window);
  if (name !== "history") return elements;
  const history = within({ from, to });
  return last === null ? history : history.slice(-last);
}

const withoutComma = (line: string): string => (line.endsWith(",") ? line.slice(0, -1) : line);

/** The value of an element's first member: its id, date or session. It has no escapes. */
function leadOf(line: string): string {
  const at = line.indexOf(':"') + 2;
  return line.slice(at, line.indexOf('"', at));
}

/** The last text of a correction: only a number comes after it. It has no escapes. */
function correctedIn(line: string): string {
  const at = line.lastIndexOf(':"') + 2;
  return line.slice(at, line.indexOf('"', at));
}

/** One record of CSV (RFC 4180), with its line break. */
const RECORD = /[^"\n]*(?:"[^"]*"[^"\n]*)*\n/g;

/**
 * CSV below its header. Fields before the id and the dates are not quoted; records with one id stand
 * together. A record has a date, or is an interval.
 */
export function selectRecords(header: string, text: string, limits: Limits): string {
  const { ids, last } = limits;
  const columns = header.trimEnd().split(",");
  const kindAt = columns.indexOf("kind");
  const idAt = columns.findIndex((column) => /^(?:(?:contract|index)_)?id$/.test(column));
  const beginAt = columns.findIndex((column) => /^(?:date|session_utc|from|month)$/.test(column));
  const endAt = columns.includes("to") ? columns.indexOf("to") : beginAt;
  const chosen: string[][] = [];
  let before: string | undefined;
  for (const record of text.match(RECORD) ?? []) {
    const fields = record.split(",", Math.max(idAt, beginAt, endAt) + 1);
    // An apostrophe makes text of an id that begins with a minus.
    const plainId = (fields[idAt] as string).replace(/^'/, "");
    const id = kindAt < 0 ? plainId : `${fields[kindAt]} ${plainId}`;
    const [begin, end] = [beginAt, endAt].map((at) =>
      (fields[at] as string).slice(0, DATE_CHARACTERS),
    );
    if (!touches(begin as string, end as string, limits)) continue;
    if (ids !== null && !ids.has(id)) continue;
    if (id !== before) chosen.push([]);
    before = id;
    chosen.at(-1)?.push(record);
  }
  return chosen.flatMap((records) => (last === null ? records : records.slice(-last))).join("");
}

/** The header of CSV: its first record. */
export const headerOf = (text: string): string => text.slice(0, text.indexOf("\n") + 1);
