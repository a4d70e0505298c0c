/**
 * The terms that a break changed, as they were before it. The ledger keeps them with the break, so that
 * a tier behind the head shows a level in the unit that it was given in.
 */
import type { GivenLevels } from "../feed/given-levels.ts";
import { changedTerms, type Contract, type EarlierTerms } from "../market/contract.ts";
import { Series } from "../market/series.ts";
import type { Session } from "../market/session.ts";
import type { Ledger } from "./ledger.ts";

/** A ledger, and the catalog that it was published with; null: there was none. */
interface Before {
  readonly ledger: Ledger;
  readonly catalog: readonly Contract[] | null;
}

/**
 * The run's ledger with the terms that change in the run. Of the breaks that the run gives for a
 * contract that had levels, the latest keeps what held for the last level before it that stays.
 */
export function withChangedTerms(
  ledger: Ledger,
  before: Before,
  catalog: readonly Contract[],
  given: GivenLevels,
): Ledger {
  const old = new Map(before.catalog?.map((contract) => [contract.id, contract]));
  return withNotes(ledger, catalog, (contract, series) => {
    const breaks = given.rowsOf(contract.id).filter(({ breakReason }) => breakReason !== undefined);
    const [last, earlier] = [old.get(contract.id), before.ledger.get(contract.id)];
    if (breaks.length === 0 || last === undefined || earlier === undefined) return null;
    const session = Math.max(...breaks.map((row) => row.session));
    const kept = earlier.levels.findLast(
      (level) => level.session < session && series.given(level.session) !== null,
    );
    const then = earlier.termsAt(kept?.session ?? session - 1);
    const now = series.termsAt(session);
    return { session, terms: changedTerms({ ...last, ...then }, { ...contract, ...now }) };
  });
}

/**
 * The ledger of a snapshot of format 1, which did not keep earlier terms. The catalog of the session
 * before tells those that a break of the snapshot's own session changed.
 */
export function withTermsOfParent(
  ledger: Ledger,
  session: Session,
  parentCatalog: readonly Contract[],
  catalog: readonly Contract[],
): Ledger {
  const old = new Map(parentCatalog.map((contract) => [contract.id, contract]));
  return withNotes(ledger, catalog, (contract) => {
    const last = old.get(contract.id);
    return last === undefined ? null : { session, terms: changedTerms(last, contract) };
  });
}

/** Adds to a break of each contract the terms before it that `noteOf` names; null: none. */
function withNotes(
  ledger: Ledger,
  catalog: readonly Contract[],
  noteOf: (
    contract: Contract,
    series: Series,
  ) => { readonly session: Session; readonly terms: EarlierTerms } | null,
): Ledger {
  const noted = new Map(ledger);
  for (const contract of catalog) {
    const series = ledger.get(contract.id);
    const note = series === undefined ? null : noteOf(contract, series);
    if (series === undefined || note === null || Object.keys(note.terms).length === 0) continue;
    const levels = series.levels.map((level) =>
      level.session === note.session && level.breakReason !== undefined
        ? { ...level, termsBefore: { ...level.termsBefore, ...note.terms } }
        : level,
    );
    noted.set(contract.id, new Series(levels));
  }
  return noted;
}
