/** The levels in a run's quotes and closes, as plain rows. */
import type { Micros } from "../market/decimal.ts";
import type { Level } from "../market/series.ts";
import type { Complaints } from "./complaints.ts";
import type { Where } from "./table.ts";
import { detached } from "./text.ts";

/** The kinds of input that give levels, in reporting order. */
export const GIVEN_KINDS = ["quotes", "closes"] as const;
/** One of GIVEN_KINDS. */
export type GivenKind = (typeof GIVEN_KINDS)[number];

/** A row. Fields that the row leaves out keep their earlier values. */
export interface GivenLevel extends Omit<Level, "usd"> {
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

/** All rows of a run. */
export class GivenLevels {
  /** Rows by contract id, in reading order; the ids are in the order of their first rows. */
  readonly byContract = new Map<string, Record<GivenKind, GivenLevel[]>>();
  readonly #files: GivenFile[] = [];
  #nextStart = 0;

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

  /** Complains once, at its first row, of each contract that `isKnown` does not know. */
  requireKnown(isKnown: (id: string) => boolean, complaints: Complaints): void {
    for (const id of this.byContract.keys()) {
      if (isKnown(id)) continue;
      const rows = this.rowsOf(id);
      const more = rows.length === 1 ? "" : `; ${rows.length} rows name it`;
      const where = this.whereOf(rows[0] as GivenLevel);
      complaints.cell(where, "id", id, `a contract of the catalog${more}`);
    }
  }
}
