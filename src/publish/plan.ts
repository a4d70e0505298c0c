/**
 * What a snapshot will hold, to the byte, before anything is written. Planning renders every file
 * once for its digest; bytes are kept while they fit and made again when they are written.
 */
import type { Correction } from "../ledger/corrections.ts";
import { countLevels, monthsOf, type Ledger } from "../ledger/ledger.ts";
import { dateText, sessionUtc } from "../market/session.ts";
import { perTier, type PerTier, type TierName } from "../market/tier.ts";
import { countsOf, droppedOf, recordsOf, type TierView } from "../market/view.ts";
import type { ReportInput } from "../render/report.ts";
import {
  identityOf,
  type FileEntry,
  type LedgerEntry,
  type Manifest,
} from "../snapshot/manifest.ts";
import { ledgerPartKey, parseLedgerPartKey, type SnapshotName } from "../store/paths.ts";
import { renderJobs, renderOrder, type RenderJob, type RenderOrder } from "./render-order.ts";
import type { RenderThread } from "./render-thread.ts";
import { Rendering, type Rendered } from "./rendering.ts";
import type { Progress } from "./request.ts";

const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** Something to write: an entry for the manifest, and its bytes when they are asked for. */
export interface Planned<Entry> {
  readonly entry: Entry;
  bytes(): Uint8Array | Promise<Uint8Array>;
}

/** A snapshot that could be written. */
export interface Plan {
  /** `identityOf` all that it holds: the same identity, the same snapshot. */
  readonly identity: string;
  readonly views: PerTier<TierView>;
  /** In the order they are rendered in. */
  readonly files: readonly Planned<FileEntry>[];
  /** Every part of the ledger, by month. */
  readonly ledger: readonly LedgerEntry[];
  /** Those of them that the parent does not have. */
  readonly freshParts: readonly Planned<LedgerEntry>[];
}

/** What a snapshot is rendered from, and what its ledger shares with the parent's. */
interface PlanInput extends ReportInput {
  readonly ledger: Ledger;
  /** The parts of the parent's ledger, and the months in which this one differs from it. */
  readonly parentLedger: readonly LedgerEntry[];
  readonly touchedMonths: ReadonlySet<string>;
}

/** Renders everything once. `thread` renders a share, where there is one. */
export async function plan(
  input: PlanInput,
  thread: RenderThread | null,
  progress: Progress,
): Promise<Plan> {
  const months = freshMonths(input);
  const order = renderOrder(input, input.ledger, months);
  const { views, files, jobs } = renderJobs(order);
  const rendered = await renderAll(order, jobs, thread, progress);
  const plannedFiles = files.map(({ path, mediaType, tier }, at): Planned<FileEntry> => {
    const { sizeBytes, sha256, bytes } = rendered[at] as Result;
    return { entry: { path, bytes: sizeBytes, sha256, media_type: mediaType, tier }, bytes };
  });
  const freshParts = months.map((month, at): Planned<LedgerEntry> => {
    const { sizeBytes, sha256, bytes } = rendered[files.length + at] as Result;
    return { entry: { key: ledgerPartKey(month, sha256), bytes: sizeBytes, sha256 }, bytes };
  });
  const ledger = [...keptParts(input), ...freshParts.map(({ entry }) => entry)];
  ledger.sort((a, b) => (a.key < b.key ? -1 : 1));
  const entries = plannedFiles.map(({ entry }) => entry);
  return { identity: identityOf(entries, ledger), views, files: plannedFiles, ledger, freshParts };
}

/** The months whose parts are not the parent's, ascending. */
function freshMonths({ ledger, parentLedger, touchedMonths }: PlanInput): string[] {
  const stored = new Set(parentLedger.map(monthOfPart));
  return monthsOf(ledger).filter((month) => touchedMonths.has(month) || !stored.has(month));
}

/** The parent's parts that stand. A month that was touched is made anew, or holds nothing more. */
const keptParts = ({ parentLedger, touchedMonths }: PlanInput): LedgerEntry[] =>
  parentLedger.filter((entry) => !touchedMonths.has(monthOfPart(entry)));

const monthOfPart = ({ key }: LedgerEntry): string => parseLedgerPartKey(key)?.month ?? "";

interface Result extends Rendered {
  bytes(): Uint8Array | Promise<Uint8Array>;
}

/** All jobs, in their order. */
async function renderAll(
  order: RenderOrder,
  jobs: readonly RenderJob[],
  thread: RenderThread | null,
  progress: Progress,
): Promise<Result[]> {
  const drawn = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const keptBytesMax = thread === null ? KEPT_BYTES_MAX : KEPT_BYTES_MAX / 2;
  const own = new Rendering(jobs, keptBytesMax);
  const total = jobs.length;
  const shares = await Promise.all([
    thread?.run(order, drawn, keptBytesMax) ?? [],
    own.run(drawn, (done) => {
      if (done < total) progress("Rendering", done, total);
    }),
  ]);
  progress("Rendering", total, total);
  const results = shares.flat().sort((a, b) => a.number - b.number);
  return results.map((item) => ({
    ...item,
    // The first thread has the writing to do, so the second one makes what was not kept.
    bytes: () => own.takeKept(item.number) ?? thread?.bytes(item.number) ?? own.render(item.number),
  }));
}

/** What of a manifest does not come from the plan. */
type ManifestHead = Pick<
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
  const { withoutLevel, ...counts } = countsOf(pro);
  const past = ({ contract, level }: ReturnType<typeof droppedOf>[number]) => ({
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
      ...counts,
      without_level: withoutLevel,
      corrected: head.corrected.length,
      corrections: corrections.length,
      ledger_levels: countLevels(ledger),
      files: plan.files.length,
      bytes: plan.files.reduce((sum, { entry }) => sum + entry.bytes, 0),
    },
    carried: recordsOf(pro)
      .filter((record) => record.carried)
      .map(past),
    dropped: droppedOf(pro).map(past),
    corrected: head.corrected,
    tiers: perTier((name) => tierSummary(plan.views[name])),
    files: plan.files.map(({ entry }) => entry).sort((a, b) => (a.path < b.path ? -1 : 1)),
    ledger: [...plan.ledger],
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
