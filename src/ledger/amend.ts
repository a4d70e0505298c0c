/**
 * Lays the levels a run was given over the ledger. A revision patches: fields that a row does not
 * name stay as they were, levels that no row names stay altogether.
 */
import type { Complaints } from "../feed/complaints.ts";
import type { GivenLevels } from "../feed/given-levels.ts";
import type { GivenTable } from "../feed/given-table.ts";
import { firstLevels } from "./first-levels.ts";
import { mergedBySession } from "./given-rows.ts";
import { addMonths, monthOf, type Ledger } from "./ledger.ts";
import { SeriesAmendment, type AmendmentBase, type Restatement } from "./series-amendment.ts";

/** A ledger with a run's levels laid over it, and how it differs from the one before. */
export interface Amendment {
  readonly ledger: Ledger;
  /** Sorted by contract and session. */
  readonly restatements: readonly Restatement[];
  /** The contracts whose series are not those of the ledger before. */
  readonly touched: readonly string[];
  /** The months, `2026-11`, with a level that is not the one before. */
  readonly touchedMonths: ReadonlySet<string>;
}

/**
 * Lays the table's levels over the ledger, which stays as it is.
 *
 * Rows that contradict each other or the ledger are added to `complaints`; the result counts only
 * when there are none.
 */
export function amend(base: AmendmentBase, table: GivenTable, complaints: Complaints): Amendment {
  const ledger = new Map(base.ledger);
  const restatements: Restatement[] = [];
  const touched: string[] = [];
  const touchedMonths = new Set<string>();
  for (const id of [...table.byContract.keys()].sort()) {
    const given = table.byContract.get(id) as GivenLevels;
    const before = base.ledger.get(id);
    if (before === undefined && given.areSeries) {
      const after = firstLevels(given, complaints);
      ledger.set(id, after);
      touched.push(id);
      addMonths(after, touchedMonths);
      continue;
    }
    const series = new SeriesAmendment(id, before, given, base, complaints);
    for (const item of mergedBySession(given, [given.all], id, complaints)) series.take(item);
    const after = series.finish();
    if (series.changed.length === 0) continue;
    touched.push(id);
    series.changed.forEach((session) => touchedMonths.add(monthOf(session)));
    restatements.push(...series.restatements);
    if (after.length > 0) ledger.set(id, after);
    else ledger.delete(id);
  }
  return { ledger, restatements, touched, touchedMonths };
}
