/** The levels in a run's quotes and closes, as plain rows. */
import { isDelisted, type Contract } from "../market/contract.ts";
import type { Micros } from "../market/decimal.ts";
import type { Level } from "../market/series.ts";
import { dateText, sessionKey } from "../market/session.ts";
import { quoted, type Complaints } from "./complaints.ts";
import type { Where } from "./table.ts";
import { detached } from "./text.ts";

/** The kinds of input that give levels, in reporting order. */
export const GIVEN_KINDS = ["quotes", "closes"] as const;
/** One of GIVEN_KINDS. */
export type GivenKind = (typeof GIVEN_KINDS)[number];

/** A row. Fields that the row leaves out keep their earlier values. */
export interface GivenLevel extends Omit<Level, "usd" | "termsBefore"> {
  /** Null: the row withdraws the level. */
  readonly usd: Micros | null;
  /** Names the row among those of all files: one number, because there are millions of rows. */
  readonly place: number;
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
  /** The ids of the catalog, if rows of others are left out. */
  readonly known: Pick<ReadonlySet<string>, "has"> | null;
  /** Whether levels with more than 6 decimals are rounded. */
  readonly round: boolean;
}

const NO_RULES: RowRules = { held: new Set(), known: null, round: false };

/** The most unknown ids that are counted one by one. */
const UNKNOWN_IDS_MAX = 100;

/** All rows of a run. */
export class GivenLevels {
  readonly rules: RowRules;
  /** How many rows of each held contract were left out. */
  readonly held = new Map<string, number>();
  /** How many rows of each id outside the catalog were left out; null: all ids after the first 100. */
  readonly unknown = new Map<string | null, number>();
  /** How many levels were rounded. */
  rounded = 0;
  /** Whether a row without session_utc was taken for the session published. */
  hasUndated = false;
  /** Rows by contract id, in reading order; the ids are in the order of their first rows. */
  readonly byContract = new Map<string, Record<GivenKind, GivenLevel[]>>();
  readonly #files: GivenFile[] = [];
  #nextStart = 0;

  constructor(rules: RowRules = NO_RULES) {
    this.rules = rules;
  }

  /** Whether a row of this id is left out. Counts it then. */
  leavesOut(id: string): boolean {
    const { held, known } = this.rules;
    if (held.has(id)) {
      countUp(this.held, id);
      return true;
    }
    if (known === null || known.has(id)) return false;
    const isCounted = this.unknown.has(id) || this.unknown.size < UNKNOWN_IDS_MAX;
    countUp(this.unknown, isCounted ? detached(id) : null);
    return true;
  }

  /** Begins a file, and returns its `start`. */
  begin(where: Where): number {
    this.#files.push({ where, start: this.#nextStart });
    return this.#nextStart;
  }

  /** Takes the next row of the file. Its id is not checked. */
  add(kind: GivenKind, id: string, level: GivenLevel): void {
    this.#nextStart = level.place + 1;
    const rows = this.byContract.get(id);
    if (rows === undefined) {
      this.byContract.set(detached(id), { quotes: [], closes: [], [kind]: [level] });
    } else rows[kind].push(level);
  }

  /** A contract's rows of all kinds, in the order of GIVEN_KINDS. */
  rowsOf(id: string): readonly GivenLevel[] {
    return Object.values(this.byContract.get(id) ?? {}).flat();
  }

  /** The row, for messages: `quotes.csv:17`. */
  whereOf({ place }: GivenLevel): string {
    const file = this.#files.findLast(({ start }) => start <= place) as GivenFile;
    return file.where(place - file.start);
  }

  /**
   * Complains once, at its first row, of each contract that `isKnown` does not know, and of each id that
   * is held without being one. `newIdOf` is the present id of a contract that was renamed.
   */
  requireKnown(
    isKnown: (id: string) => boolean,
    newIdOf: (id: string) => string | undefined,
    complaints: Complaints,
  ): void {
    const expected = (id: string): string => {
      const newId = newIdOf(id);
      return newId === undefined ? "a contract of the catalog" : `its present id, ${newId}`;
    };
    for (const id of this.rules.held) {
      if (!isKnown(id)) complaints.at(`--hold ${quoted(id)}`, `expected ${expected(id)}`);
    }
    for (const id of this.byContract.keys()) {
      if (isKnown(id)) continue;
      const rows = this.rowsOf(id);
      const more = rows.length === 1 ? "" : `; ${rows.length} rows name it`;
      const where = this.whereOf(rows[0] as GivenLevel);
      complaints.cell(where, "id", id, `${expected(id)}${more}`);
    }
  }

  /**
   * Complains once of each contract with levels for sessions from its delisting on, at the first of
   * these rows. A row may withdraw such a level.
   */
  requireListed(catalog: readonly Contract[], complaints: Complaints): void {
    for (const contract of catalog) {
      if (contract.delistedOn === null) continue;
      const rows = this.rowsOf(contract.id).filter(
        ({ session, usd }) => usd !== null && isDelisted(contract, session),
      );
      const [first] = rows;
      if (first === undefined) continue;
      const more = rows.length === 1 ? "" : `; ${rows.length} rows do`;
      const finding =
        `${contract.id} is delisted from ${dateText(contract.delistedOn)} on (delisted_on in ` +
        `the catalog), but the row gives it a level for ${sessionKey(first.session)}${more}`;
      complaints.at(this.whereOf(first), finding);
    }
  }
}

const countUp = <Key>(counts: Map<Key, number>, key: Key): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1);
