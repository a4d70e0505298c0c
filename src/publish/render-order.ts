/**
 * What there is to render for a snapshot, as plain data that a second thread can be given: both make
 * the same list of jobs out of it, and share the list out by number.
 */
import { renderCorrections } from "../ledger/corrections.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { encodePart } from "../ledger/parts.ts";
import type { Contract } from "../market/contract.ts";
import { LevelSeries, type LevelColumns, type LevelNotes } from "../market/level-series.ts";
import type { Session } from "../market/session.ts";
import { perTier, TIER_NAMES, TIERS, type PerTier } from "../market/tier.ts";
import { tierView, type TierView } from "../market/view.ts";
import { renderReport, type ReportInput } from "../render/report.ts";
import { textFile, tierFiles, type PlannedFile } from "../render/tier-files.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { HTML_TYPE, JSON_TYPE } from "../store/media-types.ts";
import { FILES } from "../store/paths.ts";

/** What `renderJobs` needs: data that `postMessage` can hand over. */
export interface RenderOrder extends Omit<ReportInput, "market"> {
  readonly catalog: readonly Contract[];
  readonly maxCarryDays: number;
  readonly ledger: readonly StoredSeries[];
  /** The months whose parts of the ledger are to be encoded. */
  readonly months: readonly string[];
}

interface StoredSeries {
  readonly id: string;
  /** In memory that threads share. */
  readonly columns: LevelColumns;
  readonly notes: ReadonlyMap<Session, LevelNotes>;
}

/** One file or one part of the ledger to make. The same call gives the same bytes, any time. */
export interface RenderJob {
  render(): Uint8Array | Promise<Uint8Array>;
}

/** An order worked out. */
interface RenderJobs {
  readonly views: PerTier<TierView>;
  readonly files: readonly PlannedFile[];
  /** The files, and after them the parts of the months. */
  readonly jobs: readonly RenderJob[];
}

/** The order for what `input` describes. */
export function renderOrder(
  { market, ...rest }: ReportInput,
  ledger: Ledger,
  months: readonly string[],
): RenderOrder {
  const series = [...ledger].map(([id, { columns, notes }]) => ({ id, columns, notes }));
  // Sorted once: each part would do it anew.
  series.sort((a, b) => (a.id < b.id ? -1 : 1));
  const { head, attribution, corrections, gates, program } = rest;
  const { catalog, maxCarryDays } = market;
  return {
    head,
    attribution,
    corrections,
    gates,
    program,
    catalog,
    maxCarryDays,
    ledger: series,
    months,
  };
}

/** The views and the jobs of an order, the same list for the same order. */
export function renderJobs(order: RenderOrder): RenderJobs {
  const { catalog, maxCarryDays, head, corrections } = order;
  const ledger: Ledger = new Map(
    order.ledger.map(({ id, columns, notes }) => [id, new LevelSeries(columns, notes)]),
  );
  const market = { catalog, maxCarryDays, seriesOf: (id: string) => ledger.get(id) };
  const input: ReportInput = { ...order, market };
  const views = perTier((name) => tierView(market, TIERS[name], head));
  const files = [
    textFile(FILES.report, HTML_TYPE, null, () => renderReport(input)),
    ...TIER_NAMES.toReversed().flatMap((name) => tierFiles(input, views[name])),
    textFile(FILES.catalog, JSON_TYPE, null, () => renderCatalog(catalog)),
    textFile(FILES.corrections, JSON_TYPE, null, () => renderCorrections(corrections)),
  ];
  const parts = order.months.map((month) => ({ render: () => encodePart(ledger, month) }));
  return { views, files, jobs: [...files, ...parts] };
}
