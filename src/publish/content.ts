/** The content of a snapshot before it is rendered. */
import { formatMicros } from "../market/decimal.ts";
import type { SeriesByIndex } from "../market/published-series.ts";
import type { Settlements } from "../market/settlements.ts";
import type { Session } from "../market/session.ts";
import type { Market } from "../market/view.ts";
import { limitsOf } from "../feed/finding.ts";
import type { GateOptions } from "../feed/gates.ts";
import type { Correction } from "../ledger/corrections.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { ConflictError } from "../lib/errors.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { Base } from "./base.ts";

/**
 * The content of a snapshot. Together with the program's version and the number of its entry it gives every byte
 * of its files.
 */
export interface Content {
  readonly session: Session;
  readonly market: Market;
  readonly ledger: Ledger;
  /** All corrections so far, oldest first. */
  readonly corrections: readonly Correction[];
  readonly attribution: string;
  readonly options: Manifest["options"];
  readonly judgements: Manifest["judgements"];
  readonly series: SeriesByIndex;
  readonly settlements: Settlements;
}

/** The content before what follows from the head's. */
export type LaidOver = Omit<Content, "series" | "settlements">;

export type PublishedBase = Base & { readonly head: NonNullable<Base["head"]> };

/** The content of the head but its series and settlements. Throws ConflictError if the head has no catalog. */
export function contentOfHead({ head, catalog, ledger, corrections }: PublishedBase): LaidOver {
  const { publication, manifest } = head;
  if (catalog === null) throw new ConflictError("The head has no catalog: publish with --catalog");
  return {
    session: publication.session,
    market: {
      catalog,
      maxCarryDays: limitsOf(manifest.options).maxCarryDays,
      seriesOf: (id) => ledger.get(id),
    },
    ledger,
    corrections,
    attribution: manifest.attribution,
    options: manifest.options,
    judgements: manifest.judgements,
  };
}

/**
 * Whether the head holds this content: the same session, catalog, attribution and carry limit.
 * `isLedgerChanged` says whether the run changed the head's ledger. The rendered bytes do not matter, so
 * the same input is also nothing to do after an upgrade of the program.
 */
export function isContentOfHead(
  { session, market, attribution }: LaidOver,
  isLedgerChanged: boolean,
  base: Base,
): base is PublishedBase {
  const { head, catalog } = base;
  return (
    !isLedgerChanged &&
    head !== null &&
    catalog !== null &&
    head.publication.session === session &&
    head.manifest.attribution === attribution &&
    limitsOf(head.manifest.options).maxCarryDays === market.maxCarryDays &&
    renderCatalog(catalog) === renderCatalog(market.catalog)
  );
}

/** The options of a run as its manifest has them. */
export const optionsOf = (
  gates: GateOptions,
  noticeStillSessions: number,
): Manifest["options"] => ({
  max_move_pct: formatMicros(gates.maxMoveMicros),
  max_index_move_pct: formatMicros(gates.maxIndexMoveMicros),
  max_board_move_pct: formatMicros(gates.maxBoardMoveMicros),
  min_coverage_pct: formatMicros(gates.minCoverageMicros),
  max_unchanged_sessions: gates.maxUnchangedSessions,
  notice_still_sessions: noticeStillSessions,
  max_gap_sessions: gates.maxGapSessions,
  max_carry_days: gates.maxCarryDays,
  accept_moves: gates.acceptMoves,
  allow_sparse: gates.allowSparse,
  ...(gates.isClosedDay === true && { closed_day: true }),
});
