/** The levels in a run's quotes and closes, as plain rows. */
import { isDelisted, type Contract } from "../market/contract.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import { countUntil, FIGURES, NOTES, type Level } from "../market/series.ts";
import { dateText, sessionKey, type Day } from "../market/session.ts";
import { Complaints, quoted } from "./complaints.ts";
import type { TableRow, Where } from "./table-row.ts";
import { plainName } from "./table-shape.ts";
import { detach } from "./text-reader.ts";

/** The kinds of input that give levels, in reporting order. */
export const GIVEN_KINDS = ["quotes", "closes"] as const;
export type GivenKind = (typeof GIVEN_KINDS)[number];

/** A row. Fields that the row leaves out keep their earlier values. */
export interface GivenLevel extends Omit<Level, "usd" | "termsBefore"> {
  /** Null: the row withdraws the level. */
  readonly usd: Micros | null;
  /** Names the row among the rows of all files: one number, because there are millions of rows. */
  readonly place: number;
}

/** The optional fields, with their columns in the input. */
const COLUMNS = { basis: "basis", asOf: "as_of", ...FIGURES, ...NOTES } as const;
const OPTIONAL = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

/** The digest of a contract's rows: one level for each session, however many rows there are. */
interface GivenContract {
  /** The place of its first row, and how many name it, rows that cannot be read included. */
  readonly place: number;
  /** The id of its first row as it came, with the column. */
  readonly came: readonly [column: string, id: string];
  rows: number;
  /** Ascending by session. */
  readonly levels: { [Kind in GivenKind]?: GivenLevel[] };
}

/** A row's place is its position in the file plus `start`. */
interface GivenFile {
  readonly where: Where;
  readonly start: number;
}

/** Which rows a run leaves out before it judges them, and whether it rounds levels. */
export interface RowRules {
  /** The ids of contracts that keep their last level. */
  readonly held: ReadonlySet<string>;
  /** Whether rows that cannot be read are left out, so that their contracts keep their last level. */
  readonly holdInvalid: boolean;
  /** The ids of the catalog; none if they cannot be read, or there are none yet. */
  readonly known: Pick<ReadonlySet<string>, "has" | "keys">;
  /** Whether rows of other ids are left out. */
  readonly ignoreUnknown: boolean;
  /** Whether levels with more than 6 decimals are rounded. */
  readonly round: boolean;
}

/** The most unknown ids that are counted, or shown, one by one. */
const UNKNOWN_IDS_MAX = 100;

const IGNORE_UNKNOWN = "; --ignore-unknown leaves such rows out";

/** All rows of a run. */
export class GivenLevels {
  readonly rules: RowRules;
  /** How many rows of each contract are held. */
  readonly held = new Map<string, number>();
  /** How many of its rows are left out with `holdInvalid` because their session is after the one published. */
  readonly later = new Map<string, number>();
  /** How many rows of each kind were read. */
  readonly rows: Record<GivenKind, number> = { quotes: 0, closes: 0 };
  /** How many rows of each id outside the catalog were left out; null: all ids after the first 100. */
  readonly unknown = new Map<string | null, number>();
  /** Of these ids, the contract or the name of the map that each seems to be. */
  readonly near = new Map<string, string>();
  /** The ids of the catalog and the names of the map, by their plain names. */
  readonly #names = new Map<string, string>();
  /** How many levels were rounded. */
  rounded = 0;
  /** Whether a row without session_utc was taken for the session published. */
  hasUndated = false;
  /** By contract id, in the order of their first rows. */
  readonly byContract = new Map<string, GivenContract>();
  readonly #files: GivenFile[] = [];
  #nextStart = 0;

  constructor(rules: RowRules) {
    this.rules = rules;
    this.addNames(rules.known.keys());
  }

  /** Also knows the names that a map gives to ids. */
  addNames(names: Iterable<string>): void {
    for (const name of names) this.#names.set(plainName(name), name);
  }

  /** The id of the catalog, or the name of a map, that is the same without blanks and case; undefined: none is. */
  contractOf(name: string): string | undefined {
    return this.rules.known.has(name) ? name : this.#names.get(plainName(name));
  }

  /** Whether a row of this id is left out. Counts it then. `came`: the id as it came. */
  leavesOut(id: string, came = id): boolean {
    const { held, known, ignoreUnknown } = this.rules;
    if (held.has(id)) {
      countUp(this.held, id);
      return true;
    }
    if (!ignoreUnknown || known.has(id)) return false;
    const isCounted = this.unknown.has(id) || this.unknown.size < UNKNOWN_IDS_MAX;
    const near = came.trim() === "" ? undefined : this.contractOf(came);
    if (near !== undefined && this.near.size < UNKNOWN_IDS_MAX) this.near.set(detach(id), near);
    countUp(this.unknown, isCounted || this.near.has(id) ? detach(id) : null);
    return true;
  }

  /** Begins a file, and returns its `start`. */
  begin(where: Where): number {
    this.#files.push({ where, start: this.#nextStart });
    return this.#nextStart;
  }

  /**
   * Takes the row at `place` of the file. Its id is not checked. Level null: the row cannot be read.
   * Complains if an earlier row of this kind gives other values for the session. `isLater`: whether the row is
   * for a session after the one published.
   */
  add(
    kind: GivenKind,
    row: TableRow,
    place: number,
    level: GivenLevel | null,
    complaints: Complaints,
    isLater: boolean,
  ): void {
    this.#nextStart = place + 1;
    const id = row.text("id");
    const contract = this.byContract.get(id) ?? newContract(place, row.givenId);
    contract.rows += 1;
    if (contract.rows === 1) this.byContract.set(detach(id), contract);
    if (level !== null) {
      const levels = (contract.levels[kind] ??= []);
      this.#addRow(levels, id, level, complaints);
      this.rows[kind] += 1;
    } else if (this.rules.holdInvalid) countUp(isLater ? this.later : this.held, detach(id));
  }

  /**
   * Rows for the same session contribute their fields to one level with the place of the first. If two
   * give different values for a field, this adds a complaint.
   */
  #addRow(levels: GivenLevel[], id: string, row: GivenLevel, complaints: Complaints): void {
    const end = countUntil(levels, row.session);
    const first = levels[end - 1];
    // There are millions of such rows, so none is copied.
    if (first?.session !== row.session) return void levels.splice(end, 0, row);
    const conflict = (column: string, value: string, earlier: string): void => {
      const such = `${id} has one level for ${sessionKey(first.session)}`;
      const expected = `${earlier} as in ${this.whereOf(first)}: ${such}`;
      complaints.cell(this.whereOf(row), column, value, expected, "as in an earlier row");
    };
    if (first.usd !== row.usd) conflict("level", usdText(row.usd), usdText(first.usd));
    let isMore = false;
    for (const field of OPTIONAL) {
      const a = first[field];
      const b = row[field];
      if (a === b || b === undefined) continue;
      if (a !== undefined) conflict(COLUMNS[field], textOf(field, b), textOf(field, a));
      isMore = true;
    }
    if (isMore) levels[end - 1] = { ...row, ...first };
  }

  /** A contract's levels of both kinds, by session. Complains of closes that contradict the quotes. */
  rowsOf(id: string, complaints = new Complaints()): readonly GivenLevel[] {
    const { quotes = [], closes = [] } = this.byContract.get(id)?.levels ?? {};
    if (quotes.length === 0) return closes;
    const levels = [...quotes];
    closes.forEach((row) => this.#addRow(levels, id, row, complaints));
    return levels;
  }

  /**
   * Holds the rows that give a contract of this catalog a level for a session from its delisting on. A row
   * may withdraw such a level.
   */
  holdDelisted(catalog: readonly Contract[]): void {
    for (const contract of catalog) {
      const stays = ({ session, usd }: GivenLevel): boolean =>
        usd === null || !isDelisted(contract, session);
      const { levels = {} } = this.byContract.get(contract.id) ?? {};
      for (const [kind, rows] of Object.entries(levels) as [GivenKind, GivenLevel[]][]) {
        rows.filter((row) => !stays(row)).forEach(() => countUp(this.held, contract.id));
        levels[kind] = rows.filter(stays);
      }
    }
  }

  /** The row, for messages: `quotes.csv:17`. */
  whereOf({ place }: Pick<GivenLevel, "place">): string {
    const file = this.#files.findLast(({ start }) => start <= place) as GivenFile;
    return file.where(place - file.start);
  }

  /**
   * Complains once, at its first row, of each contract that `isKnown` does not know, and of each id that
   * is held without being one. `newIds` are the present ids of contracts, by former ones.
   */
  requireKnown(
    isKnown: (id: string) => boolean,
    newIds: ReadonlyMap<string, string>,
    complaints: Complaints,
  ): void {
    const expected = (id: string, came: string, remedy: string): string => {
      const newId = newIds.get(id);
      if (newId !== undefined) return `its present id, ${newId}`;
      const near = this.contractOf(came);
      const like = near === came ? this.contractOf(id) : near;
      const hint = like === undefined ? remedy : `; write ${isKnown(like) ? like : quoted(like)}`;
      return `a contract of the catalog${hint}`;
    };
    for (const id of this.rules.held) {
      if (!isKnown(id)) complaints.at(`--hold ${quoted(id)}`, `expected ${expected(id, id, "")}`);
    }
    let unknown = 0;
    for (const [id, { place, rows, came }] of this.byContract) {
      if (isKnown(id)) continue;
      const mapped = came[1] === id ? "" : `; the map makes it ${quoted(id)}`;
      const words = `${expected(id, came[1], IGNORE_UNKNOWN)}${mapped}${rows === 1 ? "" : `; ${rows} rows name it`}`;
      const kind = newIds.get(id) === undefined ? "unknown" : "renamed";
      // The first are shown one by one, although they are of one kind.
      unknown += 1;
      const own = unknown > UNKNOWN_IDS_MAX ? kind : `${kind} ${unknown}`;
      complaints.cell(this.whereOf({ place }), ...came, words, own, rows);
    }
  }
}

const newContract = (place: number, [column, id]: GivenContract["came"]): GivenContract => ({
  place,
  came: [detach(column), detach(id)],
  rows: 0,
  levels: {},
});

const countUp = <Key>(counts: Map<Key, number>, key: Key): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);

function textOf(field: keyof typeof COLUMNS, value: string | number): string {
  if (field === "asOf") return dateText(value as Day);
  return field === "lowUsd" || field === "highUsd" ? formatMicros(value as Micros) : String(value);
}

const usdText = (usd: Micros | null): string => (usd === null ? "withdrawn" : formatMicros(usd));
