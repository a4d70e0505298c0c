/**
 * The terms that a break changed, as they were before it. The ledger keeps them with the break, so that
 * a tier behind the head shows a level in the unit that it was given in.
 */
import type { GivenLevels } from "../feed/given-levels.ts";
import { changedTerms, type Contract } from "../market/contract.ts";
import { Levels, Series } from "../market/series.ts";
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
  const noted = new Map(ledger);
  for (const contract of catalog) {
    const breaks = given.rowsOf(contract.id).filter(({ breakReason }) => breakReason !== undefined);
    const series = ledger.get(contract.id);
    const last = old.get(contract.id);
    const earlier = before.ledger.get(contract.id);
    if (breaks.length === 0 || !series || !last || !earlier) continue;
    const session = Math.max(...breaks.map((row) => row.session));
    const kept = earlier.levels.findLast(
      (level) => level.session < session && series.given(level.session) !== null,
    );
    const then = earlier.termsAt(kept?.session ?? session - 1);
    const now = series.termsAt(session);
    const terms = changedTerms({ ...last, ...then }, { ...contract, ...now });
    if (Object.keys(terms).length === 0) continue;
    const levels = [...series.levels].map((level) =>
      level.session === session && level.breakReason !== undefined
        ? { ...level, termsBefore: { ...level.termsBefore, ...terms } }
        : level,
    );
    noted.set(contract.id, new Series(new Levels(levels)));
  }
  return noted;
}
