/** Lays a run's input over the head: the catalog, and the ledger with the rows applied. */
import { InputError } from "../lib/errors.ts";
import { amend, type Amendment } from "../ledger/amend.ts";
import type { Correction } from "../ledger/corrections.ts";
import { withFormerIds, withNewIds } from "../ledger/rename.ts";
import {
  renamedSegmentsOf,
  withFormerSegments,
  withNewIndexIds,
  type RenamedSegment,
} from "../ledger/segments.ts";
import { withChangedTerms } from "../ledger/terms.ts";
import { newIdsOf, type Contract } from "../market/contract.ts";
import { formatMicros } from "../market/decimal.ts";
import { FILES, snapshotText, type SnapshotName } from "../store/paths.ts";
import type { Base } from "./base.ts";
import type { Inputs } from "./read-inputs.ts";

/**
 * The given or published catalog, the base under its ids, and the ledger with the input applied. Throws
 * InputError with all complaints. `location` is the store's, for messages.
 */
export function layOver(
  stored: Base,
  inputs: Inputs,
  location: string,
): {
  base: Base;
  catalog: readonly Contract[];
  amendment: Amendment;
  renamedSegments: readonly RenamedSegment[];
} {
  const { complaints, given: levels } = inputs;
  const given = inputs.catalog?.contracts;
  const before = stored.catalog ?? [];
  const renamedSegments = given ? renamedSegmentsOf(given, before) : [];
  const catalog = given
    ? withFormerSegments(withFormerIds(given, before), before, renamedSegments)
    : stored.catalog;
  if (catalog === null) {
    complaints.raise();
    throw new InputError(`${location} holds no catalog yet: give --catalog`);
  }
  const known = inputs.catalog?.ids ?? new Map(catalog.map(({ id }) => [id, FILES.catalog]));
  // If no row of the catalog is readable, complaints about unknown ids only hide its own errors.
  if (known.size > 0) levels.requireKnown((id) => known.has(id), newIdsOf(catalog), complaints);
  levels.holdDelisted(catalog);
  const base = withNewIndexIds(
    withNewIds(stored, catalog, (id) => known.get(id) as string, complaints),
    renamedSegments,
  );
  const withdrawn = new Map<string, boolean>();
  for (const { contract, session, newUsd } of base.corrections) {
    withdrawn.set(`${contract} ${session}`, newUsd === null);
  }
  const amendment = amend(
    {
      ledger: base.ledger,
      head: base.head?.publication.session ?? null,
      wasWithdrawn: (contract, session) => withdrawn.get(`${contract} ${session}`) === true,
    },
    levels,
    complaints,
  );
  complaints.raise();
  const ledger = withChangedTerms(amendment.ledger, base, catalog, levels);
  return { base, catalog, amendment: { ...amendment, ledger }, renamedSegments };
}

/** The corrections that a run makes in the snapshot `name`, which the entry `publication` makes the head. */
export const correctionsOf = (
  { restatements }: Amendment,
  reason: string,
  name: SnapshotName,
  publication: number,
): Correction[] =>
  restatements.map(({ contract, session, old, now }) => ({
    contract,
    session,
    oldUsd: old === null ? null : formatMicros(old.usd),
    newUsd: now === null ? null : formatMicros(now.usd),
    reason,
    correctedIn: snapshotText(name),
    publication,
  }));
