/** Prints the desk's findings on a terminal; views.ts makes JSON of them. */
import { counted, cut } from "../lib/text.ts";
import { parseSession, sessionAt, sessionKey } from "../market/session.ts";
import { TIERS, vintageDays } from "../market/tier.ts";
import { snapshotText, type SnapshotName } from "../store/paths.ts";
import { plainText, printLine, printNotice, printTable, type Cell } from "../lib/terminal.ts";
import type { ObjectStore } from "../store/object-store.ts";
import type { Comparison } from "./compare.ts";
import type { Copying } from "./copy.ts";
import { whatOf } from "../snapshot/publication-log.ts";
import type { IndexMove } from "./index-move.ts";
import { missedText, type Listing } from "./list.ts";
import type { Pruning } from "./prune.ts";
import type { Rollback } from "./rollback.ts";
import type { Description } from "./show.ts";
import type { Verification } from "./verify.ts";

const ROWS_SHOWN = 20;
/** A segment's name can be far longer than a line. */
const NAME_CHARACTERS = 40;
/** Printed instead of a finding if the snapshot lacks the file for it. */
const NOT_THERE = "not in the snapshot";

/** `snapshots ls`: a table with a row for each entry and each range of missed sessions. */
export function printListing({ rows, older }: Listing, location: string): void {
  if (rows.length === 0) return printLine(`Nothing is published in ${location}.`);
  const columns = [
    "",
    "no",
    "snapshot",
    "what",
    "at",
    "contracts",
    "carried",
    "dropped",
    "bytes",
    "reason",
  ];
  printTable(
    columns,
    rows.map((row): Cell[] => {
      if (row.kind === "prune") {
        const { number, at, snapshots, parts } = row.prune;
        const took = `${counted(snapshots.length, "snapshot")}, ${counted(parts.length, "ledger part")}`;
        return ["", number, took, "prune", at, "", "", "", "", ""];
      }
      if (row.kind !== "publication") {
        return ["", "", missedText(row), row.kind, "", "", "", "", "", ""];
      }
      const { publication, manifest, what, isHead } = row;
      const counts = manifest?.counts;
      return [
        isHead ? "head" : "",
        publication.number,
        snapshotText(publication),
        manifest === null ? `${what} (pruned)` : what,
        publication.at,
        counts?.["contracts"] ?? null,
        counts?.["carried"] ?? null,
        counts?.["dropped"] ?? null,
        counts?.["bytes"] ?? null,
        publication.reason ?? "",
      ];
    }),
  );
  if (older > 0) printLine(`and ${older} older; --all shows them`);
}

/** `snapshots show`: facts, then tables of moves and exceptions. */
export function printDescription(description: Description): void {
  const { manifest, publication, index } = description;
  const { counts } = manifest;
  const facts: [string, string][] = [
    ["Snapshot", description.snapshot],
    [
      "Published",
      publication === null
        ? "never"
        : `${publication.at}, number ${publication.number}, ${whatOf(publication)}`,
    ],
    ["Reason", publication?.reason ?? manifest.reason ?? "none given"],
    [
      "Board",
      `${counts["memory"]} memory, ${counts["semiconductor"]} semiconductor of ${counts["contracts"]} contracts`,
    ],
    [
      "Index",
      index === null
        ? NOT_THERE
        : index.level === null
          ? "none: no contract has a level a year before the session"
          : `${index.level} (24 h ${index.chg_24h_pct ?? "-"} %, 30 d ${index.chg_30d_pct ?? "-"} %)`,
    ],
    [
      "Parent",
      manifest.parent === null
        ? "none"
        : `${shortSession(manifest.parent.session_utc)}/r${manifest.parent.revision}`,
    ],
    ["Files", `${counts["files"]}, ${counts["bytes"]} bytes, in ${description.folder}`],
    ["Identity", manifest.identity],
    ["Signed", description.signed ? "yes; verify --verify-key FILE names the signer" : "no"],
    ["Attribution", manifest.attribution],
    ["Program", `${manifest.program.name} ${manifest.program.version}`],
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  facts.forEach(([name, value]) => printLine(`${name.padEnd(width)}  ${plainText(value)}`));
  section(
    "Indices",
    ["id", "name", "constituents", "level", "24 h %", "30 d %", "series", "of"],
    description.indices?.map((item) => [
      cut(item.id, NAME_CHARACTERS),
      cut(item.name, NAME_CHARACTERS),
      item.constituents,
      item.level,
      item.chg_24h_pct,
      item.chg_30d_pct,
      item.series_close,
      item.series_date,
    ]),
  );
  section(
    "Largest moves in 24 hours",
    ["contract", "level", "percent"],
    description.largest_moves?.map((item) => [item.id, item.spot_usd, item.chg_24h_pct]),
  );
  section(
    "Carried",
    ["contract", "level of", "as of"],
    manifest.carried.map((item) => [item.id, item.session_utc, item.as_of]),
  );
  section(
    "Dropped",
    ["contract", "last level of", "as of"],
    manifest.dropped.map((item) => [item.id, item.session_utc, item.as_of]),
  );
  section(
    "Delisted",
    ["contract", "last level of", "as of"],
    manifest.delisted.map((item) => [item.id, item.session_utc, item.as_of]),
  );
  section(
    "Corrected",
    ["contract", "session", "old", "new"],
    manifest.corrected.map((item) => [item.contract, item.session_utc, item.old_usd, item.new_usd]),
  );
  section(
    "Judgements",
    ["gate", "contract", "measured", "limit"],
    manifest.judgements.map((item) => [item.gate, item.contract, item.measured, item.limit]),
  );
  section(
    "Breaks",
    ["contract", "from", "reason"],
    description.breaks?.map((item) => [item.id, item.session_utc, item.reason]),
  );
}

/** `snapshots diff`. Lists end after ROWS_SHOWN rows; `--json` has all rows. */
export function printComparison(
  found: Comparison,
  before: SnapshotName,
  after: SnapshotName,
): void {
  const { index } = found;
  printLine(`From ${snapshotText(before)} to ${snapshotText(after)}`);
  printLine(`Index ${index.old_level ?? "none"} to ${index.new_level ?? "none"}`);
  printLine(`Added ${listed(found.added)}`);
  printLine(`Removed ${listed(found.removed)}`);
  section(
    "Repriced",
    ["contract", "old", "new", "percent"],
    found.repriced?.map((item) => [item.id, item.old_usd, item.new_usd, item.change_pct]),
  );
  section(
    "Corrected",
    ["contract", "session", "old", "new", "in", "reason"],
    found.corrected?.map((item) => [
      item.contract,
      sessionKey(item.session),
      item.oldUsd,
      item.newUsd,
      item.correctedIn,
      item.reason,
    ]),
  );
  section(
    "Metadata changed",
    ["contract", "field", "old", "new"],
    found.metadata?.map((item) => [item.id, item.field, item.old, item.new]),
  );
  section("What moved the index", ["by", "points", ""], indexParts(index));
  section(
    "Prices that moved the index most",
    ["contract", "points"],
    index.movers?.map((item) => [item.id, item.points]),
  );
}

/** The parts of the index's move, each with its reason; undefined if a snapshot lacks the index. */
function indexParts({
  old_base_utc,
  new_base_utc,
  entered,
  left,
  ...parts
}: IndexMove): Cell[][] | undefined {
  if (entered === null || left === null) return undefined;
  const [from, to] = [shortSession(old_base_utc ?? ""), shortSession(new_base_utc ?? "")];
  const base = from === to ? `changed levels of ${to}` : `from ${from} to ${to}`;
  const rows: [string, string | null, string][] = [
    ["prices", parts.price_points, `of the constituents of both, against the base of ${from}`],
    ["base", parts.base_points, base],
    [
      "constituents",
      parts.constituents_points,
      `entered: ${listed(entered)}; left: ${listed(left)}`,
    ],
  ];
  return rows.filter(([, points]) => points !== null && points !== "0");
}

/** `snapshots verify`, if it finds no damage. `memory` is the file that remembers the log. */
export function printVerification(found: Verification, memory?: string): void {
  const { checked, pruned, entries, linked, signatures, files, bytes } = found;
  const snapshots =
    checked.length === 1 ? snapshotText(checked[0] as SnapshotName) : `${checked.length} snapshots`;
  printLine(`Whole: ${snapshots}, ${files} files, ${bytes} bytes`);
  const links =
    linked === entries
      ? "each linked to those before"
      : `of which ${linked + 1} to ${entries} have no link`;
  printLine(`Log: ${counted(entries, "entry", "entries")}, ${links}`);
  for (const signer of new Set(signatures.map(({ fingerprint }) => fingerprint))) {
    const signed = signatures.filter(({ fingerprint }) => fingerprint === signer);
    const last = signed.at(-1)?.number;
    printLine(
      `Signed by ${signer}: ${counted(signed.length, "entry", "entries")}, the last is ${last}`,
    );
  }
  if (pruned.length > 0) printLine(`Pruned before: ${listed(pruned.map(snapshotText))}`);
  if (memory !== undefined) printLine(`${memory} remembers entry ${entries} of the log`);
}

/** `snapshots rollback`, and its consequences. */
export function printRollback(done: Rollback): void {
  const { outcome, snapshot, publication, before, signing } = done;
  const name = snapshotText(snapshot.name);
  if (outcome === "unchanged") {
    return printLine(
      signing?.outcome === "added"
        ? `Signed ${name}, which is the head`
        : `Nothing to do: ${name} is the head`,
    );
  }
  printLine(
    `Rolled back from ${snapshotText(before)} to ${name}, publication ${publication.number}`,
  );
  if (signing !== null) printLine(`Signed by ${signing.fingerprint}`);
  printLine(`Proxies follow at their next poll; the next publish builds on ${name}.`);
}

/** `snapshots prune`. */
export function printPruning(pruning: Pruning, dryRun: boolean): void {
  const { snapshots, ledgerParts, objects, bytes, kept, signing } = pruning;
  const unpublished = snapshots.filter(({ orphan }) => orphan).length;
  const what = [
    counted(snapshots.length - unpublished, "snapshot"),
    ...(unpublished === 0 ? [] : [counted(unpublished, "unpublished folder")]),
    counted(ledgerParts.length, "ledger part"),
    `in all ${counted(objects, "object")} of ${counted(bytes, "byte")}`,
  ].join(", ");
  const stay = kept === 1 ? "1 snapshot stays" : `${kept} snapshots stay`;
  printLine(`${dryRun ? "Would remove" : "Removed"} ${what}; ${stay}`);
  if (signing !== null && !dryRun) printLine(`Signed by ${signing.fingerprint}`);
  section(
    dryRun ? "Would be removed" : "Removed",
    ["snapshot", ""],
    snapshots.map(({ name, orphan }) => [name, orphan ? "no publication names it" : ""]),
  );
}

/** Says which tiers may ask for more than a prune that keeps `keepDays` leaves. */
export function warnOfDepths(keepDays: number, nowMs: number): void {
  for (const tier of Object.values(TIERS)) {
    const days = vintageDays(tier, sessionAt(nowMs));
    const may = `${tier.name} may ask for answers of the last ${days} days (as_of, publication)`;
    const get = `those of more than ${keepDays} days ago will be 410`;
    if (days > keepDays) printNotice(`warning: ${may}: ${get}`);
  }
}

/** `snapshots copy`. */
export function printCopying(done: Copying, from: ObjectStore, to: ObjectStore): void {
  const { outcome, objects, bytes, there, snapshots, head } = done;
  const headText =
    head === null ? "" : `; the head is ${snapshotText(head)}, publication ${head.number}`;
  const whole = `${counted(snapshots, "snapshot")}${headText}`;
  if (outcome === "unchanged") {
    return printLine(`Nothing to do: ${to.location} holds all of ${from.location}, ${whole}`);
  }
  const what = `${counted(objects, "object")} of ${counted(bytes, "byte")}`;
  const way = `from ${from.location} to ${to.location}`;
  const isPlan = outcome === "planned";
  printLine(`${isPlan ? "Would copy" : "Copied"} ${what} ${way}; ${there} were there before`);
  printLine(`${to.location} ${isPlan ? "would hold" : "holds"} ${whole}`);
}

/** Turns a manifest's `2026-11-21T00:00:00.000Z` into the form that commands take. */
const shortSession = (instant: string): string => {
  const session = parseSession(instant);
  return session === null ? instant : sessionKey(session);
};

function section(
  title: string,
  columns: readonly string[],
  rows: readonly (readonly Cell[])[] = [[NOT_THERE]],
): void {
  if (rows.length === 0) return;
  printLine(`\n${title}`);
  printTable(columns, rows.slice(0, ROWS_SHOWN));
  if (rows.length > ROWS_SHOWN) printLine(`and ${rows.length - ROWS_SHOWN} more; --json shows all`);
}

function listed(items: readonly string[] | null): string {
  if (items === null) return NOT_THERE;
  if (items.length === 0) return "none";
  const more = items.length - ROWS_SHOWN;
  return items.slice(0, ROWS_SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
