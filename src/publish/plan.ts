/**
 * What a snapshot will hold, to the byte, before anything is written. Planning renders every file
 * once for its digest; bytes are kept while they fit and made again when they are written.
 */
import type { Correction } from "../ledger/corrections.ts";
import { renderCorrections } from "../ledger/corrections.ts";
import { countLevels, monthsOf, type Ledger } from "../ledger/ledger.ts";
import { encodePart } from "../ledger/parts.ts";
import { dateText, sessionUtc } from "../market/session.ts";
import { TIER_NAMES, TIERS, type TierName } from "../market/tier.ts";
import { recordsOf, tierView, type TierView } from "../market/view.ts";
import { HTML_TYPE, renderReport, type ReportInput } from "../render/report.ts";
import { JSON_TYPE, tierFiles, type PlannedFile } from "../render/tier-files.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import {
  identityOf,
  type FileEntry,
  type LedgerEntry,
  type Manifest,
} from "../snapshot/manifest.ts";
import { FILES, ledgerPartKey, parseLedgerPartKey, type SnapshotName } from "../store/paths.ts";
import type { Progress } from "./request.ts";

const KEPT_BYTES_MAX = 256 * 1024 * 1024;

/** Something to write: an entry for the manifest, and its bytes when they are asked for. */
export interface Planned<Entry> {
  readonly entry: Entry;
  bytes(): Uint8Array | Promise<Uint8Array>;
}

export interface Plan {
  readonly identity: string;
  readonly views: { readonly [T in TierName]: TierView };
  readonly files: readonly Planned<FileEntry>[];
  /** Every part of the ledger; `stored` ones are in the store already. */
  readonly ledger: readonly (Planned<LedgerEntry> & { readonly stored: boolean })[];
}

export interface PlanInput extends ReportInput {
  readonly ledger: Ledger;
  /** The parts of the parent's ledger, and the months in which this one differs from it. */
  readonly parentLedger: readonly LedgerEntry[];
  readonly touchedMonths: ReadonlySet<string>;
}

export async function plan(input: PlanInput, progress: Progress): Promise<Plan> {
  const { market, head } = input;
  const views = Object.fromEntries(
    TIER_NAMES.map((name) => [name, tierView(market, TIERS[name], head)]),
  ) as { [T in TierName]: TierView };
  const planned: PlannedFile[] = [
    textFile(FILES.catalog, JSON_TYPE, () => renderCatalog(market.catalog)),
    textFile(FILES.corrections, JSON_TYPE, () => renderCorrections(input.corrections)),
    textFile(FILES.report, HTML_TYPE, () => renderReport(input)),
    ...TIER_NAMES.toReversed().flatMap((name) => tierFiles(input, views[name])),
  ];

  let kept = 0;
  const keeping = (bytes: Uint8Array): boolean => (kept += bytes.length) <= KEPT_BYTES_MAX;
  const files: Planned<FileEntry>[] = [];
  for (const file of planned) {
    const bytes = await file.render();
    const { path, mediaType, tier } = file;
    files.push({
      entry: { path, bytes: bytes.length, sha256: sha256Hex(bytes), media_type: mediaType, tier },
      bytes: keeping(bytes) ? () => bytes : () => file.render(),
    });
    progress("Rendering", files.length, planned.length);
  }
  const ledger = planLedger(input, keeping);
  const identity = identityOf(
    files.map(({ entry }) => entry),
    ledger.map(({ entry }) => entry),
  );
  return { identity, views, files, ledger };
}

function planLedger(input: PlanInput, keeping: (bytes: Uint8Array) => boolean): Plan["ledger"] {
  const parentParts = new Map(
    input.parentLedger.map((entry) => [parseLedgerPartKey(entry.key)?.month, entry]),
  );
  return monthsOf(input.ledger).map((month) => {
    const parent = parentParts.get(month);
    const encode = (): Buffer => encodePart(input.ledger, month);
    if (parent !== undefined && !input.touchedMonths.has(month)) {
      return { entry: parent, stored: true, bytes: encode };
    }
    const bytes = encode();
    const sha256 = sha256Hex(bytes);
    const entry = { key: ledgerPartKey(month, sha256), bytes: bytes.length, sha256 };
    return { entry, stored: false, bytes: keeping(bytes) ? () => bytes : encode };
  });
}

const textFile = (path: string, mediaType: string, text: () => string): PlannedFile => ({
  path,
  mediaType,
  tier: null,
  render: () => Buffer.from(text()),
});

/** What of a manifest does not come from the plan. */
export type ManifestHead = Pick<
  Manifest,
  "program" | "parent" | "reason" | "attribution" | "options" | "inputs" | "corrected"
>;

/** The manifest of the snapshot `name`. Its bytes depend on nothing but what it says. */
export function manifestOf(
  plan: Plan,
  name: SnapshotName,
  ledger: Ledger,
  corrections: readonly Correction[],
  head: ManifestHead,
): Manifest {
  const { pro } = plan.views;
  const records = recordsOf(pro);
  const carried = records.filter((record) => record.carried);
  const dropped = pro.offBoard.flatMap(({ contract, lastLevel }) =>
    lastLevel === null ? [] : [{ contract, level: lastLevel }],
  );
  const past = ({ contract, level }: Pick<(typeof records)[number], "contract" | "level">) => ({
    id: contract.id,
    session_utc: sessionUtc(level.session),
    as_of: dateText(level.asOf),
  });
  return {
    format: 1,
    session_utc: sessionUtc(name.session),
    revision: name.revision,
    identity: plan.identity,
    program: head.program,
    parent: head.parent,
    reason: head.reason,
    attribution: head.attribution,
    options: head.options,
    inputs: head.inputs,
    counts: {
      contracts: records.length + pro.offBoard.length,
      memory: pro.boards.memory.length,
      semiconductor: pro.boards.semiconductor.length,
      given: records.length - carried.length,
      carried: carried.length,
      dropped: dropped.length,
      without_level: pro.offBoard.length - dropped.length,
      corrected: head.corrected.length,
      corrections: corrections.length,
      ledger_levels: countLevels(ledger),
      files: plan.files.length,
      bytes: plan.files.reduce((sum, { entry }) => sum + entry.bytes, 0),
    },
    carried: carried.map(past),
    dropped: dropped.map(past),
    corrected: head.corrected,
    tiers: {
      free: tierSummary(plan.views.free),
      starter: tierSummary(plan.views.starter),
      pro: tierSummary(plan.views.pro),
    },
    files: plan.files.map(({ entry }) => entry).sort((a, b) => (a.path < b.path ? -1 : 1)),
    ledger: plan.ledger.map(({ entry }) => entry),
  };
}

const tierSummary = (view: TierView): Manifest["tiers"][TierName] => ({
  session_utc: sessionUtc(view.session),
  delayed_sessions: view.tier.delaySessions,
  memory: view.boards.memory.length,
  semiconductor: view.boards.semiconductor.length,
  off_board: view.offBoard.map(({ contract, lastLevel }) => ({
    id: contract.id,
    as_of: lastLevel === null ? null : dateText(lastLevel.asOf),
  })),
});
