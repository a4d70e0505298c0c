/** Renders a snapshot in one pass: an object is made, hashed, handed on to be written, and forgotten. */
import { atOnce } from "../lib/at-once.ts";
import { InputError } from "../lib/errors.ts";
import { PROGRAM } from "../lib/version.ts";
import { countLevels } from "../ledger/ledger.ts";
import { encodeMonth, monthsOf } from "../ledger/months.ts";
import { movementOf, stillSessionsOf } from "../market/coverage.ts";
import { differingCloses } from "../market/differing-closes.ts";
import { dateOf } from "../market/series.ts";
import { dateText, sessionUtc } from "../market/session.ts";
import {
  FULLEST,
  perTier,
  TIER_NAMES,
  TIERS,
  type PerTier,
  type TierName,
} from "../market/tier.ts";
import {
  countsOf,
  delistedOf,
  droppedOf,
  recordsOf,
  tierView,
  type BoardRecord,
  type TierView,
} from "../market/view.ts";
import { snapshotFiles, type PlannedFile } from "../render/snapshot-files.ts";
import { codedForm } from "../snapshot/coded.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import {
  FORMAT,
  identityOf,
  unfitIn,
  type FileEntry,
  type LedgerMonth,
  type Manifest,
} from "../snapshot/manifest.ts";
import { numberAfter } from "../snapshot/log/append.ts";
import { formsOf, type NamedObject } from "../snapshot/stored-snapshot.ts";
import { renderSums } from "../snapshot/sums.ts";
import { mediaTypeOf } from "../store/media-types.ts";
import {
  FILES,
  ledgerMonthKey,
  parseLedgerMonthKey,
  storedAs,
  type SnapshotName,
} from "../store/paths.ts";
import type { Parent } from "./base.ts";
import type { Content } from "./content.ts";
import type { Progress } from "./request.ts";

/** Takes an object as soon as it is made. */
export type Sink = (object: NamedObject, bytes: Uint8Array) => Promise<void>;

/** For a run that does not write. */
export const dropObject: Sink = async () => {};

export interface Rendering {
  /** `identityOf` all files and ledger months. Snapshots with the same identity hold the same. */
  readonly identity: string;
  readonly views: PerTier<TierView>;
  readonly files: readonly FileEntry[];
  /** Every month of the ledger. */
  readonly ledger: readonly LedgerMonth[];
}

/**
 * Renders all files and ledger months once, and hands on their stored form, except the months that the parent
 * has. No more than a few files are in memory at once.
 */
export async function render(
  name: SnapshotName,
  content: Content,
  { head: parent, end, rowsBefore }: Parent,
  sink: Sink,
  progress: Progress,
): Promise<Rendering> {
  const { market, session: head, ledger } = content;
  const views = perTier((tier) => tierView(market, TIERS[tier], head));
  const publication = numberAfter(end.newest);
  const input = { ...content, head, publication, rowsBefore, program: PROGRAM };
  const toRender = snapshotFiles(input, views);
  let done = 0;
  const files = await atOnce(toRender, async (file) => {
    const entry = await handOn(file, name, sink);
    progress("Rendering", (done += 1), toRender.length);
    return entry;
  });
  files.push(...(await atOnce(sumsOf(files), (file) => handOn(file, name, sink))));
  // A month that did not change keeps the parent's file and its name.
  const parentLedger = parent?.manifest.ledger ?? [];
  const known = new Map(
    parentLedger.map((entry) => [
      `${parseLedgerMonthKey(entry.key)?.month} ${entry.sha256}`,
      entry,
    ]),
  );
  const months = await atOnce(monthsOf(ledger), async (month) => {
    const bytes = encodeMonth(ledger, month);
    if (bytes === null) return [];
    const size = sizeOf(bytes);
    const kept = known.get(`${month} ${size.sha256}`);
    if (kept !== undefined) return [kept];
    const entry = { key: ledgerMonthKey(month, size.sha256, publication - 1), ...size };
    requireFit({ ledger: [entry] });
    await sink(entry, bytes);
    return [entry];
  });
  const entries = months.flat();
  return { identity: identityOf(files, entries), views, files, ledger: entries };
}

/** Renders a file and hands on its stored form. Returns its entry in the manifest. */
async function handOn(
  { path, tier, render }: PlannedFile,
  name: SnapshotName,
  sink: Sink,
): Promise<FileEntry> {
  const made = await render();
  const rendered = typeof made === "string" ? Buffer.from(made) : made;
  const as = storedAs(path);
  const [whole, pieces] =
    rendered instanceof Uint8Array
      ? [rendered, [{ id: null, bytes: rendered }]]
      : [new Uint8Array(), rendered];
  const form = as === "plain" ? null : codedForm(pieces);
  const entry: FileEntry = {
    path,
    ...(form?.plain ?? sizeOf(whole)),
    media_type: mediaTypeOf(path),
    tier,
    ...(form !== null && { gzip: sizeOf(form.bytes) }),
    ...(as === "gzip" && { stored: as }),
    ...(pieces === rendered && { parts: form?.parts }),
  };
  requireFit({ files: [entry] });
  const { plain, gzip } = formsOf(name, entry);
  if (plain !== null) await sink(plain, whole);
  if (gzip !== null && form !== null) await sink(gzip, form.bytes);
  return entry;
}

const sizeOf = (bytes: Uint8Array) => ({ bytes: bytes.length, sha256: sha256Hex(bytes) });

/** Throws InputError if a file exceeds a limit of its readers. */
function requireFit(named: Partial<Parameters<typeof unfitIn>[0]>): void {
  const unfit = unfitIn({ files: [], ledger: [], inputs: [], ...named });
  if (unfit !== null) throw new InputError(`The snapshot exceeds a size limit: ${unfit}`);
}

/** SHA256SUMS of each tier, by the digests of its files. */
const sumsOf = (files: readonly FileEntry[]): PlannedFile[] =>
  TIER_NAMES.map((tier) => ({
    path: FILES.sums(tier),
    tier,
    render: () => renderSums(tier, files),
  }));

/** The fields of a manifest that neither the rendering nor the content has. */
type RunFields = Pick<Manifest, "parent" | "reason" | "by" | "why" | "inputs" | "corrected">;

/** The manifest of the snapshot `name`. The same arguments give the same bytes. */
export function manifestOf(
  rendering: Rendering,
  name: SnapshotName,
  content: Content,
  run: RunFields,
): Manifest {
  const view = rendering.views[FULLEST.name];
  const { withoutLevel, ...counts } = countsOf(view);
  const { market, session, options } = content;
  const { catalog, seriesOf } = market;
  const movement = movementOf(catalog, seriesOf, session, stillSessionsOf(options));
  const past = ({ contract, level }: BoardRecord) => ({
    id: contract.id,
    session_utc: sessionUtc(level.session),
    as_of: dateText(dateOf(level)),
  });
  return {
    format: FORMAT,
    session_utc: sessionUtc(name.session),
    revision: name.revision,
    identity: rendering.identity,
    program: PROGRAM,
    parent: run.parent,
    reason: run.reason,
    by: run.by,
    why: run.why,
    attribution: content.attribution,
    options: content.options,
    inputs: run.inputs,
    counts: {
      ...counts,
      without_level: withoutLevel,
      corrected: run.corrected.length,
      corrections: content.corrections.length,
      ledger_levels: countLevels(content.ledger),
      files: rendering.files.length,
      bytes: rendering.files.reduce((sum, { bytes }) => sum + bytes, 0),
    },
    carried: recordsOf(view)
      .filter((record) => record.carried)
      .map(past),
    dropped: droppedOf(view).map(past),
    delisted: delistedOf(view).map(past),
    movement: {
      given: movement.given,
      unchanged: movement.unchanged,
      unmoved_since_utc: movement.since === null ? null : sessionUtc(movement.since),
      still: movement.still.map(({ contract, since }) => ({
        id: contract.id,
        since_utc: sessionUtc(since),
        sessions: name.session - since,
      })),
    },
    corrected: run.corrected,
    differing_closes: differingCloses(content.series).map(({ largestPct, ...item }) => ({
      index: item.index,
      from: dateText(item.from),
      largest_pct: largestPct,
      last: dateText(item.last),
      close: item.close,
      value: item.value,
    })),
    judgements: content.judgements,
    tiers: perTier((name) => tierSummary(rendering.views[name])),
    files: rendering.files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    ledger: [...rendering.ledger],
  };
}

const tierSummary = (view: TierView): Manifest["tiers"][TierName] => ({
  session_utc: sessionUtc(view.session),
  delayed_sessions: view.tier.delaySessions,
  memory: view.boards.memory.length,
  semiconductor: view.boards.semiconductor.length,
  off_board: view.offBoard.map(({ contract, last }) => ({
    id: contract.id,
    as_of: last === null ? null : dateText(dateOf(last.level)),
  })),
});
