/** All levels that a run's input names, collected over its files. */
import type { Micros } from "../market/decimal.ts";
import type { Session } from "../market/session.ts";
import type { Complaints } from "./complaints.ts";
import { GivenLevelsBuilder } from "./given-levels-builder.ts";
import {
  GIVEN_KINDS,
  type GivenExtras,
  type GivenKind,
  type GivenLevels,
  type Origin,
} from "./given-levels.ts";
import { SessionTemplate } from "./session-column.ts";
import { detached } from "./text.ts";

/** What quotes and closes name, by contract id. Ids are not checked against a catalog yet. */
export interface GivenTable {
  readonly byContract: ReadonlyMap<string, GivenLevels>;
  /** How many rows files of each kind had. */
  readonly rows: Readonly<Record<GivenKind, number>>;
}

/** The rows read so far, by contract id. */
export class GivenTableBuilder {
  readonly #sessions = new SessionTemplate();
  readonly #byContract = new Map<string, GivenLevelsBuilder>();
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
    return { byContract, rows: this.#rows };
  }
}

/** Complains of every row whose contract `isKnown` does not know. */
export function requireKnownContracts(
  table: GivenTable,
  isKnown: (id: string) => boolean,
  complaints: Complaints,
): void {
  for (const kind of GIVEN_KINDS) {
    for (const [id, levels] of table.byContract) {
      if (isKnown(id)) continue;
      for (const { from, to } of levels.placesOf(kind)) {
        for (let place = from; place < to; place += 1) {
          complaints.cell(levels.where(place), "id", id, "a contract of the catalog");
        }
      }
    }
  }
}
