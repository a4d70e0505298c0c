/** All levels that a run's input names, collected over its files. */
import type { Micros } from "../market/decimal.ts";
import type { Session } from "../market/session.ts";
import type { Complaints } from "./complaints.ts";
import { GivenLevelsBuilder } from "./given-levels-builder.ts";
import { type GivenExtras, type GivenKind, type GivenLevels, type Origin } from "./given-levels.ts";
import { SessionTemplate } from "./session-column.ts";
import { detached } from "./text.ts";

/** What quotes and closes name, by contract id. Ids are not checked against a catalog yet. */
export interface GivenTable {
  readonly byContract: ReadonlyMap<string, GivenLevels>;
  /** Where each contract was named first, for messages, in the order they were read. */
  readonly firstRows: ReadonlyMap<string, string>;
  /** How many rows files of each kind had. */
  readonly rows: Readonly<Record<GivenKind, number>>;
}

/** The rows read so far, by contract id. */
export class GivenTableBuilder {
  readonly #sessions = new SessionTemplate();
  readonly #byContract = new Map<string, GivenLevelsBuilder>();
  readonly #firstRows = new Map<string, string>();
  readonly #rows = { quotes: 0, closes: 0 };

  /** `usd` null takes a level back; `position` is the row's in the file of its origin. */
  push(
    id: string,
    session: Session,
    usd: Micros | null,
    extras: GivenExtras,
    origin: Origin,
    position: number,
  ): void {
    let levels = this.#byContract.get(id);
    if (levels === undefined) {
      this.#byContract.set(detached(id), (levels = new GivenLevelsBuilder(this.#sessions)));
      this.#firstRows.set(detached(id), origin.where(position));
    }
    levels.push(session, usd, extras, origin, position);
    this.#rows[origin.kind] += 1;
  }

  /** Nothing can be pushed after it. */
  build(): GivenTable {
    const byContract = new Map<string, GivenLevels>();
    for (const [id, levels] of this.#byContract) {
      byContract.set(id, levels.build());
      this.#byContract.delete(id);
    }
    return { byContract, firstRows: this.#firstRows, rows: this.#rows };
  }
}

/** Complains once of each contract that `isKnown` does not know, at its first row. */
export function requireKnownContracts(
  table: GivenTable,
  isKnown: (id: string) => boolean,
  complaints: Complaints,
): void {
  for (const [id, where] of table.firstRows) {
    if (isKnown(id)) continue;
    const rows = table.byContract.get(id)?.length ?? 0;
    const more = rows === 1 ? "" : `; ${rows} rows name it`;
    complaints.cell(where, "id", id, `a contract of the catalog${more}`);
  }
}
