/** The levels that a run's quotes and closes name, as plain rows. */
import type { Micros } from "../market/decimal.ts";
import type { Level } from "../market/series.ts";
import type { Complaints } from "./complaints.ts";
import type { Where } from "./table.ts";
import { detached } from "./text.ts";

/** The kinds of input that give levels, in the order that they are reported in. */
export const GIVEN_KINDS = ["quotes", "closes"] as const;
/** One of GIVEN_KINDS. */
export type GivenKind = (typeof GIVEN_KINDS)[number];

/** A file of the input. `where` names a row of it, by its position, in messages. */
export interface Origin {
  readonly kind: GivenKind;
  readonly where: Where;
}

/** A row. It has the fields that it names: what it leaves out stays as it was. */
export interface GivenLevel extends Omit<Level, "usd"> {
  /** Null takes the level back. */
  readonly usd: Micros | null;
  readonly origin: Origin;
  /** Of the row in its file: a line, or a place in an array. */
  readonly position: number;
}

/** The row, for messages: `quotes.csv:17`. */
export const whereOf = ({ origin, position }: GivenLevel): string => origin.where(position);

/** All rows of a run. */
export class GivenLevels {
  /** By contract id, in the order they were read; ids are in the order of their first rows. */
  readonly byContract = new Map<string, GivenLevel[]>();

  /** Takes the next row. Its id is not checked. */
  add(id: string, level: GivenLevel): void {
    const levels = this.byContract.get(id);
    if (levels === undefined) this.byContract.set(detached(id), [level]);
    else levels.push(level);
  }

  /** Complains once of each contract that `isKnown` does not know, at its first row. */
  requireKnown(isKnown: (id: string) => boolean, complaints: Complaints): void {
    for (const [id, rows] of this.byContract) {
      if (isKnown(id)) continue;
      const more = rows.length === 1 ? "" : `; ${rows.length} rows name it`;
      complaints.cell(whereOf(rows[0] as GivenLevel), "id", id, `a contract of the catalog${more}`);
    }
  }
}
