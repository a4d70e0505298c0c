/** Moves the history of renamed contracts: the catalog names the id that a contract had before. */
import type { Complaints } from "../feed/complaints.ts";
import { newIdsOf, type Contract } from "../market/contract.ts";
import { withRenamedMembers, type StoredSeriesByIndex } from "../market/published-series.ts";
import { withRenamedSettlements, type Settlements } from "../market/settlements.ts";
import type { Correction } from "./corrections.ts";
import type { Ledger } from "./ledger.ts";

/** The parts of the head that are stored under ids of contracts. */
interface History {
  readonly catalog: readonly Contract[] | null;
  readonly corrections: readonly Correction[];
  readonly ledger: Ledger;
  readonly series: StoredSeriesByIndex;
  readonly settlements: Settlements;
}

/**
 * The catalog with all ids that its contracts ever had: those that it names, and those that the catalog before
 * knew. An id that a contract has again, or that another one names, belongs to that one.
 */
export function withFormerIds(
  catalog: readonly Contract[],
  before: readonly Contract[],
): readonly Contract[] {
  const known = new Map(before.map(({ id, formerly }) => [id, formerly]));
  const taken = new Set(catalog.flatMap(({ id, formerly }) => [id, ...formerly]));
  return catalog.map((contract) => {
    const { id, formerly } = contract;
    const older = [id, ...formerly].flatMap((each) => known.get(each) ?? []);
    return { ...contract, formerly: [...older.filter((each) => !taken.has(each)), ...formerly] };
  });
}

/**
 * The history under the ids of `catalog`, so that a renamed contract goes on as the same one. Adds a
 * complaint for each contract whose two ids both have levels; then the result must not be used.
 */
export function withNewIds<H extends History>(
  history: H,
  catalog: readonly Contract[],
  whereOf: (id: string) => string,
  complaints: Complaints,
): H {
  const newIds = newIdsOf(catalog);
  if (newIds.size === 0) return history;
  const ledger = new Map(history.ledger);
  for (const [formerly, id] of newIds) {
    const series = ledger.get(formerly);
    if (series === undefined) continue;
    if (ledger.has(id)) {
      const expected = `an id whose levels ${id} can take over, but ${id} has levels of its own`;
      complaints.cell(whereOf(id), "formerly", formerly, expected);
    }
    ledger.delete(formerly);
    ledger.set(id, series);
  }
  const before = history.catalog ?? [];
  const replaced = new Set(before.map(({ id }) => newIds.get(id)));
  const idOf = (id: string): string => newIds.get(id) ?? id;
  return {
    ...history,
    ledger,
    series: withRenamedMembers(history.series, idOf),
    settlements: withRenamedSettlements(history.settlements, idOf),
    corrections: history.corrections.map((item) => ({ ...item, contract: idOf(item.contract) })),
    catalog:
      history.catalog &&
      before
        .filter(({ id }) => !replaced.has(id))
        .map((contract) => ({ ...contract, id: idOf(contract.id) })),
  };
}
