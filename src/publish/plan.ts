/** Renders all of a snapshot's bytes before anything is written. */
import { createHash } from "node:crypto";
import { limitsOf } from "../feed/finding.ts";
import { PROGRAM } from "../lib/version.ts";
import { countLevels } from "../ledger/ledger.ts";
import { encodeMonth, monthsOf } from "../ledger/months.ts";
import { dateOf } from "../market/series.ts";
import { dateText, sessionUtc } from "../market/session.ts";
import { perTier, TIER_NAMES, TIERS, type PerTier, type TierName } from "../market/tier.ts";
import {
  countsOf,
  delistedOf,
  droppedOf,
  recordsOf,
  tierView,
  type BoardRecord,
  type TierView,
} from "../market/view.ts";
import { snapshotFiles, type PlannedFile } from "../render/files.ts";
import { codedForm } from "../snapshot/coded.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import {
  FORMAT,
  identityOf,
  type FileEntry,
  type LedgerEntry,
  type Manifest,
} from "../snapshot/manifest.ts";
import { renderSums } from "../snapshot/sums.ts";
import { GZIP_TYPE, NDJSON_TYPE, TEXT_TYPE } from "../store/media-types.ts";
import {
  codedPath,
  FILES,
  ledgerPartKey,
  parseLedgerPartKey,
  storedAs,
  type SnapshotName,
} from "../store/paths.ts";
import type { Base } from "./base.ts";
import type { Content } from "./content.ts";
import type { Progress } from "./request.ts";

/** More than the files of 1,000 contracts take. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

/** An object to write. */
export interface PlannedObject {
  /** The path in the snapshot's folder; the key of a ledger part. */
  readonly path: string;
  readonly sha256: string;
  readonly mediaType: string;
  bytes(): Uint8Array | Promise<Uint8Array>;
}

/** A snapshot that is not written yet. */
export interface Plan {
  /** `identityOf` all files and parts. Snapshots with the same identity hold the same. */
  readonly identity: string;
  readonly views: PerTier<TierView>;
  /** In the order in which they are rendered. */
  readonly files: readonly FileEntry[];
  /** Every part of the ledger, by month. */
  readonly ledger: readonly LedgerEntry[];
  /** What the files are stored as. */
  readonly objects: readonly PlannedObject[];
  /** The parts that the parent does not have. */
  readonly freshParts: readonly PlannedObject[];
}

/** Renders all files and ledger parts. */
export async function plan(content: Content, base: Base, progress: Progress): Promise<Plan> {
  const { market, session: head, ledger, options } = content;
  const parentLedger = base.head?.manifest.ledger ?? [];
  const began = base.end.newest?.entry.number ?? 0;
  const views = perTier((name) => tierView(market, TIERS[name], head));
  const input = { ...content, head, gates: limitsOf(options), program: PROGRAM };
  const toRender = snapshotFiles(input, views);
  const keep = keeper();
  const files: FileEntry[] = [];
  const objects: PlannedObject[] = [];
  const add = async (file: PlannedFile): Promise<void> => {
    const { entry, stored } = await storedFile(file);
    files.push(entry);
    for (const [at, { bytes, ...object }] of stored.entries()) {
      const again = async (): Promise<Uint8Array> =>
        ((await storedFile(file)).stored[at] as (typeof stored)[number]).bytes;
      objects.push({ ...object, bytes: keep(bytes, again) });
    }
  };
  for (const file of toRender) {
    await add(file);
    progress("Rendering", files.length, toRender.length);
  }
  for (const file of sumsOf([...files])) await add(file);
  // A month that did not change keeps the parent's part and its name.
  const known = new Map(
    parentLedger.map((entry) => [`${parseLedgerPartKey(entry.key)?.month} ${entry.sha256}`, entry]),
  );
  const parts = monthsOf(ledger).flatMap((month) => {
    const bytes = encodeMonth(ledger, month);
    if (bytes === null) return [];
    const sha256 = sha256Hex(bytes);
    const ownKey = ledgerPartKey(month, sha256, began);
    const entry = known.get(`${month} ${sha256}`) ?? { key: ownKey, bytes: bytes.length, sha256 };
    return [{ entry, bytes: keep(bytes, () => encodeMonth(ledger, month) as Buffer) }];
  });
  const entries = parts.map(({ entry }) => entry);
  return {
    identity: identityOf(files, entries),
    views,
    files,
    ledger: entries,
    objects,
    freshParts: parts
      .filter(({ entry }) => !parentLedger.includes(entry))
      .map(({ entry: { key: path, sha256 }, bytes }) => {
        return { path, sha256, mediaType: NDJSON_TYPE, bytes };
      }),
  };
}

/** A file's entry in the manifest, and the objects that it is stored as. */
async function storedFile({ path, mediaType, tier, render }: PlannedFile): Promise<{
  readonly entry: FileEntry;
  readonly stored: readonly (Omit<PlannedObject, "bytes"> & { readonly bytes: Uint8Array })[];
}> {
  const rendered = await render();
  const pieces = rendered instanceof Uint8Array ? [{ id: null, bytes: rendered }] : rendered;
  const all = pieces.map(({ bytes }) => bytes);
  const hash = createHash("sha256");
  for (const bytes of all) hash.update(bytes);
  const sha256 = hash.digest("hex");
  const sizeBytes = all.reduce((sum, { length }) => sum + length, 0);
  const entry = { path, bytes: sizeBytes, sha256, media_type: mediaType, tier };
  const as = storedAs(path);
  const plain = as === "gzip" ? [] : [{ path, sha256, mediaType, bytes: Buffer.concat(all) }];
  if (as === "plain") return { entry, stored: plain };
  const { bytes: code, parts } = await codedForm(pieces);
  const gzip = { bytes: code.length, sha256: sha256Hex(code) };
  const coded = { path: codedPath(path), sha256: gzip.sha256, mediaType: GZIP_TYPE, bytes: code };
  return {
    entry: {
      ...entry,
      gzip,
      ...(as === "gzip" && { stored: as }),
      ...(pieces === rendered && { parts }),
    },
    stored: [...plain, coded],
  };
}

/** SHA256SUMS of each tier, by the digests of its files. */
const sumsOf = (files: readonly FileEntry[]): PlannedFile[] =>
  TIER_NAMES.map((tier) => ({
    path: FILES.sums(tier),
    mediaType: TEXT_TYPE,
    tier,
    render: () => renderSums(tier, files),
  }));

type Render = PlannedObject["bytes"];

/** Keeps rendered bytes in memory up to KEPT_BYTES_MAX. Other files are rendered again to be written. */
function keeper(): (bytes: Uint8Array, render: Render) => Render {
  let roomBytes = KEPT_BYTES_MAX;
  return (bytes, render) => {
    if (bytes.length > roomBytes) return render;
    roomBytes -= bytes.length;
    return () => bytes;
  };
}

/** The fields of a manifest that neither the plan nor the content has. */
type ManifestHead = Pick<Manifest, "parent" | "reason" | "by" | "why" | "inputs" | "corrected">;

/** The manifest of the snapshot `name`. The same arguments give the same bytes. */
export function manifestOf(
  plan: Plan,
  name: SnapshotName,
  content: Content,
  head: ManifestHead,
): Manifest {
  const { pro } = plan.views;
  const { withoutLevel, ...counts } = countsOf(pro);
  const past = ({ contract, level }: BoardRecord) => ({
    id: contract.id,
    session_utc: sessionUtc(level.session),
    as_of: dateText(dateOf(level)),
  });
  return {
    format: FORMAT,
    session_utc: sessionUtc(name.session),
    revision: name.revision,
    identity: plan.identity,
    program: PROGRAM,
    parent: head.parent,
    reason: head.reason,
    by: head.by,
    why: head.why,
    attribution: content.attribution,
    options: content.options,
    inputs: head.inputs,
    counts: {
      ...counts,
      without_level: withoutLevel,
      corrected: head.corrected.length,
      corrections: content.corrections.length,
      ledger_levels: countLevels(content.ledger),
      files: plan.files.length,
      bytes: plan.files.reduce((sum, { bytes }) => sum + bytes, 0),
    },
    carried: recordsOf(pro)
      .filter((record) => record.carried)
      .map(past),
    dropped: droppedOf(pro).map(past),
    delisted: delistedOf(pro).map(past),
    corrected: head.corrected,
    judgements: content.judgements,
    tiers: perTier((name) => tierSummary(plan.views[name])),
    files: plan.files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    ledger: [...plan.ledger],
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
