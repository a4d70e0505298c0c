/** All files of a snapshot except its manifest, and how each is rendered. */
import { renderCorrections } from "../ledger/corrections.ts";
import type { SeriesByIndex } from "../market/published-series.ts";
import type { Settlements } from "../market/settlements.ts";
import { dateText } from "../market/session.ts";
import { historyFloor, KEYLESS, TIER_NAMES, type PerTier, type TierName } from "../market/tier.ts";
import { discontinuedOf, basketItems, recordsOf, type TierView } from "../market/view.ts";
import { renderBasketFile } from "./basket-file.ts";
import { renderCloseCounts } from "./close-counts.ts";
import type { Envelope } from "./envelope.ts";
import {
  compositeBody,
  indexBody,
  indicesBody,
  indicesCsv,
  indicesWithSeries,
  membersCsv,
  priceIndices,
  type IndexWithSeries,
  type PricedIndex,
} from "./index-files.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { renderSettlements } from "../snapshot/settlements-file.ts";
import { renderSeries } from "../snapshot/series-file.ts";
import type { Piece } from "../snapshot/coded.ts";
import { FILES } from "../store/paths.ts";
import { renderCsv } from "./board-csv.ts";
import { historyCsv, historyParquet, levelsCsv, supersededCsv } from "./history.ts";
import { KnownRows, type RowsBefore } from "./known-rows.ts";
import { boardBody, contractBody, correctionsBody, sparklinesBody } from "./payload-bodies.ts";
import { renderReport, type ReportInput } from "./report/page.ts";
import { settledItems, settlementsBody, settlementsCsv } from "./settlement-files.ts";
import { renderWorkbook } from "./workbook/workbook.ts";

/** A file of a snapshot that is not rendered yet. */
export interface PlannedFile {
  /** The path in the snapshot's folder. */
  readonly path: string;
  /** The tier that the file is for; null: no tier. */
  readonly tier: TierName | null;
  /** Text or bytes; of a file that contracts are read from alone, pieces: it is stored gzip-coded only. */
  render(): string | Uint8Array | Iterable<Piece> | Promise<Uint8Array>;
}

/** The content of a snapshot, from which all of its files are rendered. */
export interface SnapshotInput extends ReportInput {
  /** The number of the entry that makes the snapshot the head. */
  readonly publication: number;
  readonly series: SeriesByIndex;
  readonly settlements: Settlements;
  /** Of the parent. */
  readonly rowsBefore: PerTier<RowsBefore>;
}

/** The files of a snapshot. `views` are of `input.market` at `input.head`. */
export function snapshotFiles(input: SnapshotInput, views: PerTier<TierView>): PlannedFile[] {
  const { market, series } = input;
  const { catalog } = market;
  const indices = indicesWithSeries(market, series);
  return [
    { path: FILES.report, tier: null, render: () => renderReport(input, indices) },
    ...TIER_NAMES.toReversed().flatMap((name) => tierFiles(input, views[name], indices)),
    { path: FILES.catalog, tier: null, render: () => renderCatalog(catalog) },
    {
      path: FILES.closes,
      tier: null,
      render: () => renderCloseCounts(market, views[KEYLESS.name].session),
    },
    { path: FILES.corrections, tier: null, render: () => renderCorrections(input.corrections) },
    { path: FILES.series, tier: null, render: () => renderSeries(series) },
    {
      path: FILES.settlements,
      tier: null,
      render: () => renderSettlements(input.settlements),
    },
  ];
}

function tierFiles(
  input: SnapshotInput,
  view: TierView,
  indices: readonly IndexWithSeries[],
): PlannedFile[] {
  const { market, head, attribution, settlements } = input;
  const { tier } = view;
  const envelope: Envelope = {
    session: view.session,
    delayedSessions: tier.delaySessions,
    license: tier.license,
    attribution,
  };
  const file = (path: string, render: PlannedFile["render"]): PlannedFile => ({
    path,
    tier: tier.name,
    render,
  });

  const files = [file(FILES.board(tier.name), () => boardBody(envelope, view, head + 1))];
  if (tier.index) {
    let priced: readonly PricedIndex[] | null = null;
    const all = (): readonly PricedIndex[] => (priced ??= priceIndices(market, view, indices));
    const at = (place: number): PricedIndex => all()[place] as PricedIndex;
    files.push(
      file(FILES.index(tier.name), () => compositeBody(envelope, at(0))),
      file(FILES.indices(tier.name), () => indicesBody(envelope, all())),
      ...indices.map(({ id }, place) =>
        file(FILES.indexOf(tier.name, id), () => indexBody(envelope, market, at(place))),
      ),
      file(FILES.indicesCsv(tier.name), () => indicesCsv(all())),
    );
    if (tier.superseded) {
      const body = (): string => membersCsv(view, market.catalog, indices);
      files.push(file(FILES.membersCsv(tier.name), body));
    }
  }
  if (tier.baskets) {
    const body = (): string => renderBasketFile(envelope, basketItems(market, view));
    files.push(file(FILES.basket(tier.name), body));
  }
  if (tier.exports.includes("csv")) {
    files.push(file(FILES.csv(tier.name), () => renderCsv(view)));
  }
  if (tier.exports.includes("xlsx")) {
    const body = (): Promise<Buffer> => {
      const settled = settledItems(view, market.catalog, settlements);
      return renderWorkbook(view, settled, { attribution });
    };
    files.push(file(FILES.xlsx(tier.name), body));
  }
  if (tier.settlements.includes("csv")) {
    const body = (): string => settlementsCsv(view, market.catalog, settlements);
    files.push(file(FILES.settlementsCsv(tier.name), body));
  }
  const correctionsOf = Map.groupBy(input.corrections, ({ contract }) => contract);
  const contracts = [...recordsOf(view), ...discontinuedOf(view)].map((record) => {
    const { id } = record.contract;
    const corrections = correctionsOf.get(id) ?? [];
    const body = (): string =>
      contractBody(envelope, view, record, market.maxCarryDays, corrections);
    return file(FILES.contract(tier.name, id), body);
  });
  if (tier.settlements.includes("json")) {
    for (const { id } of indices) {
      const body = (): string => settlementsBody(envelope, view, "index", id, settlements);
      files.push(file(FILES.settlementsOfIndex(tier.name, id), body));
    }
    for (const { contract } of [...recordsOf(view), ...discontinuedOf(view)]) {
      const { id } = contract;
      const body = (): string => settlementsBody(envelope, view, "contract", id, settlements);
      files.push(file(FILES.settlementsOfContract(tier.name, id), body));
    }
  }
  if (tier.history !== null) {
    const ids = new Set(market.catalog.map(({ id }) => id));
    const body = (): string => correctionsBody(envelope, view, input.corrections, ids);
    files.push(
      file(FILES.tierCorrections(tier.name), body),
      file(FILES.sparklines(tier.name), () =>
        sparklinesBody(envelope, view, tier.index ? indices : []),
      ),
    );
  }
  if (tier.historyFiles.includes("csv")) {
    files.push(file(FILES.historyCsv(tier.name), () => historyCsv(view, market.catalog)));
    // The other long file comes after the contracts, so that the two overlap in memory for less time.
    const known = knownRowsOf(input, view);
    contracts.push(file(FILES.levelsCsv(tier.name), () => levelsCsv(view, market.catalog, known)));
    if (known !== null) {
      const body = () => supersededCsv(view, market.catalog, known);
      contracts.push(file(FILES.supersededCsv(tier.name), body));
    }
  }
  if (tier.historyFiles.includes("parquet")) {
    files.push(file(FILES.historyParquet(tier.name), () => historyParquet(view, market.catalog)));
  }
  return [...files, ...contracts];
}

/** Since when the tier's rows of levels have been known; null: the tier does not say so. */
function knownRowsOf(
  { publication, rowsBefore, market }: SnapshotInput,
  { tier, session }: TierView,
): KnownRows | null {
  const floor = historyFloor(tier, session);
  if (!tier.superseded || floor === null) return null;
  return new KnownRows(publication, rowsBefore[tier.name], market.catalog, dateText(floor));
}
