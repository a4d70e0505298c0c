/** The desk's findings as JSON, for machines: levels and percentages are numbers. */
import type { Decimal } from "../market/decimal.ts";
import { sessionKey, sessionUtc } from "../market/session.ts";
import { snapshotText, type SnapshotName } from "../store/paths.ts";
import type { ObjectStore } from "../store/object-store.ts";
import type { Comparison } from "./compare.ts";
import type { Copying } from "./copy.ts";
import type { Listing } from "./list.ts";
import type { Pruning } from "./prune.ts";
import type { Rollback } from "./rollback.ts";
import type { Description } from "./show.ts";
import type { Verification } from "./verify.ts";

/** `snapshots ls --json`. */
export const listingView = ({ rows, older }: Listing): object => ({
  older,
  publications: rows.map((row) => {
    if (row.kind === "prune") return { what: row.kind, ...row.prune };
    return row.kind !== "publication"
      ? { what: row.kind, from: sessionKey(row.from), to: sessionKey(row.to) }
      : {
          what: row.what,
          head: row.isHead,
          number: row.publication.number,
          session: sessionKey(row.publication.session),
          session_utc: sessionUtc(row.publication.session),
          revision: row.publication.revision,
          reason: row.publication.reason,
          at: row.publication.at,
          pruned: row.manifest === null,
          counts: row.manifest?.counts ?? null,
        };
  }),
});

/** `snapshots show --json`. */
export const descriptionView = (description: Description): object => ({
  ...description,
  index: description.index && {
    level: number(description.index.level),
    chg_24h_pct: number(description.index.chg_24h_pct),
    chg_30d_pct: number(description.index.chg_30d_pct),
  },
  indices:
    description.indices &&
    description.indices.map((item) => ({
      ...item,
      constituents: Number(item.constituents),
      level: number(item.level),
      chg_24h_pct: number(item.chg_24h_pct),
      chg_30d_pct: number(item.chg_30d_pct),
      series_close: number(item.series_close),
    })),
  largest_moves:
    description.largest_moves &&
    description.largest_moves.map(({ id, spot_usd, chg_24h_pct }) => ({
      id,
      spot_usd: number(spot_usd),
      chg_24h_pct: number(chg_24h_pct),
    })),
});

/** `snapshots diff --json`. */
export const comparisonView = (
  found: Comparison,
  before: SnapshotName,
  after: SnapshotName,
): object => ({
  before: snapshotText(before),
  after: snapshotText(after),
  ...found,
  repriced:
    found.repriced &&
    found.repriced.map(({ id, old_usd, new_usd, change_pct }) => ({
      id,
      old_usd: number(old_usd),
      new_usd: number(new_usd),
      change_pct: number(change_pct),
    })),
  corrected:
    found.corrected &&
    found.corrected.map((item) => ({
      contract: item.contract,
      session_utc: sessionUtc(item.session),
      old_usd: number(item.oldUsd),
      new_usd: number(item.newUsd),
      reason: item.reason,
      corrected_in: item.correctedIn,
    })),
  index: {
    ...found.index,
    old_level: number(found.index.old_level),
    new_level: number(found.index.new_level),
    price_points: number(found.index.price_points),
    base_points: number(found.index.base_points),
    constituents_points: number(found.index.constituents_points),
    movers:
      found.index.movers &&
      found.index.movers.map(({ id, points }) => ({ id, points: number(points) })),
  },
});

/** `snapshots verify --json`. */
export const verificationView = ({
  checked,
  pruned,
  entries,
  signatures,
  files,
  bytes,
  damages,
}: Verification): object => ({
  whole: damages.length === 0,
  checked: checked.map(snapshotText),
  pruned: pruned.map(snapshotText),
  entries,
  signatures,
  files,
  bytes,
  damages,
});

/** `snapshots rollback --json`. */
export const rollbackView = ({
  outcome,
  snapshot,
  publication,
  before,
  signing,
}: Rollback): object => ({
  outcome,
  snapshot: snapshotText(snapshot.name),
  publication: publication.number,
  reason: publication.reason,
  before: snapshotText(before),
  signature: signing,
});

/** `snapshots prune --json`. */
export const pruningView = (pruning: Pruning, dryRun: boolean): object => ({
  dry_run: dryRun,
  snapshots: pruning.snapshots,
  ledger_parts: pruning.ledgerParts,
  objects: pruning.objects,
  bytes: pruning.bytes,
  kept: pruning.kept,
  signature: pruning.signing,
});

/** `snapshots copy --json`. */
export const copyingView = (
  { outcome, objects, bytes, there, snapshots, head }: Copying,
  from: ObjectStore,
  to: ObjectStore,
): object => ({
  outcome,
  from: from.location,
  to: to.location,
  objects,
  bytes,
  there,
  snapshots,
  head: head && { snapshot: snapshotText(head), number: head.number },
});

const number = (decimal: Decimal | null): number | null =>
  decimal === null ? null : Number(decimal);
