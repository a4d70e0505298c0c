/** The gates on a given catalog: changed terms, missing contracts, another free slice. */
import { changedTerms, TERMS, type Contract, type EarlierTerms } from "../market/contract.ts";
import { FULLEST } from "../market/tier.ts";
import { recordsOf, tierView } from "../market/view.ts";
import { quoted } from "./complaints.ts";
import type { GateFinding, GateInput } from "./finding.ts";

/**
 * Terms of published levels that change although no break of the run comes before the level: by the
 * catalog alone, or because the run withdraws the break that changed them.
 */
export function termsWithoutBreak({
  head,
  catalog,
  before,
  after,
  given,
}: GateInput): GateFinding[] {
  const byId = new Map(head?.catalog.map((contract) => [contract.id, contract]));
  return catalog.flatMap((now): GateFinding[] => {
    const { id } = now;
    const last = byId.get(id);
    const old = before.get(id);
    const kept = after.get(id);
    if (last === undefined || old === undefined) return [];
    const breaks = given.rowsOf(id).filter(({ breakReason }) => breakReason !== undefined);
    const free = Math.min(...breaks.map(({ session }) => session));
    // Terms change at breaks only, so the last level before each one stands for those before it.
    const ends = [...old.breaks, ...(kept?.breaks ?? [])].map(({ session }) => session);
    for (const end of [Infinity, ...ends]) {
      const level = old.levels.findLast(
        ({ session }) => session < Math.min(end, free) && kept?.given(session) != null,
      );
      const earlier = level === undefined ? {} : old.termsAt(level.session);
      const later = level === undefined ? {} : kept?.termsAt(level.session);
      const finding = termsFinding({ ...last, ...earlier }, { ...now, ...later }, earlier);
      if (finding !== null && (level !== undefined || breaks.length === 0)) return [finding];
    }
    return [];
  });
}

/** The finding on terms that change; null: they do not. `earlier` are those that a break changed. */
function termsFinding(old: Contract, now: Contract, earlier: EarlierTerms): GateFinding | null {
  const fields = Object.keys(changedTerms(old, now)) as (keyof typeof TERMS)[];
  if (fields.length === 0) return null;
  const quotedOrNone = (value: string | null): string => (value === null ? "none" : quoted(value));
  const changes = fields.map(
    (field) => `${TERMS[field]} from ${quotedOrNone(old[field])} to ${quotedOrNone(now[field])}`,
  );
  const withdrawn = fields.every((field) => earlier[field] === undefined)
    ? ""
    : ": the run withdraws the one that changed it. Give a later level with that break, or the catalog as it was before it";
  return {
    contract: now.id,
    measured: now.unit,
    limit: old.unit,
    text: `${now.id} changes its ${changes.join(" and its ")} without a break${withdrawn}`,
    ...(fields.every((field) => field === "unit") ? {} : { needsBreak: true }),
  };
}

/** The contracts on the head's boards that the catalog lacks. */
export function missingContracts({ head, catalog, before }: GateInput): GateFinding[] {
  if (head === null) return [];
  const there = new Set(catalog.map(({ id }) => id));
  const market = { ...head, seriesOf: (id: string) => before.get(id) };
  return recordsOf(tierView(market, FULLEST, head.session))
    .filter(({ contract }) => !there.has(contract.id))
    .map(({ contract: { id } }) => ({
      contract: id,
      measured: null,
      limit: null,
      text: `${id} is on the board, but the catalog has no row for it`,
    }));
}

/** The contracts that enter or leave the free slice. */
export function changedFreeSlice({ head, catalog }: GateInput): GateFinding[] {
  if (head === null) return [];
  const idsOf = (contracts: readonly Contract[]): string[] =>
    contracts.filter(({ free }) => free).map(({ id }) => id);
  const old = idsOf(head.catalog);
  const now = idsOf(catalog);
  const finding = (contract: string, measured: "added" | "removed", verb: string): GateFinding => ({
    contract,
    measured,
    limit: null,
    text: `${contract} ${verb} the free slice`,
  });
  return [
    ...now.filter((id) => !old.includes(id)).map((id) => finding(id, "added", "enters")),
    ...old.filter((id) => !now.includes(id)).map((id) => finding(id, "removed", "leaves")),
  ];
}
