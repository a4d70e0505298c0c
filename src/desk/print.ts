/** Prints the desk's findings on a terminal: the same values that `--json` prints. */
import {
  printFacts,
  printLine,
  printNotice,
  printRecords,
  printTable,
  type Cell,
  type Fields,
} from "../lib/terminal.ts";
import { counted, cut } from "../lib/text.ts";
import { parseSession, sessionAt, sessionKey, type Session } from "../market/session.ts";
import { TIERS, vintageDays } from "../market/tier.ts";
import { DIFFERING_NOTE } from "../snapshot/differing.ts";
import { judgementRows } from "../snapshot/judgement.ts";
import { publicationKind } from "../snapshot/log/entry.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { Comparison } from "./compare.ts";
import type { Copying } from "./copy-store.ts";
import type { WrittenInputs } from "./write-inputs.ts";
import type { ListRow, Listing, MissedSessions } from "./list.ts";
import type { Pruning } from "./prune.ts";
import type { Repair } from "./repair.ts";
import type { Rollback } from "./rollback.ts";
import type { Description } from "./show.ts";
import type { Verification } from "./verify.ts";

const ROWS_SHOWN = 20;
/** A segment's name can be far longer than a line. */
const NAME_CHARACTERS = 40;
/** Printed instead of a finding if the snapshot lacks the file for it. */
const NOT_THERE = "not in the snapshot";

/** `snapshots ls`: a table with a row for each entry and each range of missed sessions. */
export function printListing({ publications, older }: Listing, location: string): void {
  if (publications.length === 0) return printLine(`Nothing is published in ${location}.`);
  printTable(["", "no", "snapshot", "what", "at", ...COUNTS, "reason"], publications.map(cellsOf));
  if (older > 0) printLine(`and ${older} older; --all shows them`);
}

const COUNTS = ["contracts", "carried", "dropped", "bytes"];

function cellsOf(row: ListRow): Cell[] {
  const none = [...COUNTS, "reason"].map(() => "");
  switch (row.what) {
    case "missed":
    case "due":
      return ["", "", missedText(row), row.what, "", ...none];
    case "prune": {
      const { number, at, snapshots, parts } = row;
      const took = `${counted(snapshots.length, "snapshot")}, ${counted(parts.length, "ledger part")}`;
      return ["", number, took, "prune", at, ...none];
    }
    default: {
      const { number, session, revision, at, counts, reason } = row;
      const what = row.pruned ? `${row.what} (pruned)` : row.what;
      const figures = COUNTS.map((name) => counts?.[name] ?? null);
      const name = `${session}/r${revision}`;
      return [row.head ? "head" : "", number, name, what, at, ...figures, reason ?? ""];
    }
  }
}

/** `2026-11-20T12Z`, or `2026-11-20T12Z to 2026-11-21T12Z (3)`. */
function missedText({ from, to }: MissedSessions): string {
  const count = (parseSession(to) as Session) - (parseSession(from) as Session) + 1;
  return count === 1 ? from : `${from} to ${to} (${count})`;
}

/** `snapshots show`: facts, then tables of moves and exceptions. */
export function printDescription(description: Description): void {
  const { manifest, publication, index, indices } = description;
  const { counts, parent, program } = manifest;
  printFacts({
    Snapshot: description.snapshot,
    Published:
      publication === null
        ? "never"
        : `${publication.at}, number ${publication.number}, ${publicationKind({ ...publication, revision: manifest.revision })}`,
    Reason: publication?.reason ?? manifest.reason ?? "none given",
    By: manifest.by ?? "not named",
    Why: manifest.why ?? "none given",
    Board: `${counts["memory"]} memory, ${counts["semiconductor"]} semiconductor of ${counts["contracts"]} contracts`,
    Unchanged: unchangedText(manifest.movement),
    Index: index === null ? NOT_THERE : indexText(index),
    Parent: parent === null ? "none" : `${shortSession(parent.session_utc)}/r${parent.revision}`,
    Files: `${counts["files"]}, ${counts["bytes"]} bytes, in ${description.folder}`,
    Identity: manifest.identity,
    Signed: description.signed ? "yes; verify --verify-key FILE names the signer" : "no",
    Attribution: manifest.attribution,
    Program: `${program.name} ${program.version}`,
  });
  const short = (text: string): string => cut(text, NAME_CHARACTERS);
  section(
    "Indices",
    indices && indices.map((item) => ({ ...item, id: short(item.id), name: short(item.name) })),
  );
  section("Largest moves in 24 hours", description.largest_moves);
  section("Standing still", manifest.movement?.still ?? []);
  section("Carried", manifest.carried);
  section("Dropped", manifest.dropped);
  section("Delisted", manifest.delisted);
  section("Corrected", manifest.corrected);
  printDiffering(manifest.differing_closes);
  section("Judgements", judgementRows(manifest.judgements));
  section("Breaks", description.breaks);
}

function printDiffering(differing: Readonly<NonNullable<Manifest["differing_closes"]>> = []): void {
  section("Closes that differ from the values as known now", differing);
  if (differing.length > 0) printLine(DIFFERING_NOTE);
}

function unchangedText(movement: Description["manifest"]["movement"]): string {
  if (movement === undefined) return NOT_THERE;
  const { given, unchanged, unmoved_since_utc: since } = movement;
  const all = since === null ? "" : `; no level has moved since ${shortSession(since)}`;
  return `${unchanged} of ${given} given levels${all}`;
}

function indexText(index: NonNullable<Description["index"]>): string {
  if (index.level === null) return "none: no contract has a level a year before the session";
  return `${index.level} (24 h ${index.chg_24h_pct ?? "-"} %, 30 d ${index.chg_30d_pct ?? "-"} %)`;
}

/** `snapshots diff`. Lists end after ROWS_SHOWN rows; `--json` has all rows. */
export function printComparison(found: Comparison): void {
  const { index } = found;
  printLine(`From ${found.before} to ${found.after}`);
  printLine(`Index ${index.old_level ?? "none"} to ${index.new_level ?? "none"}`);
  printLine(`Added ${listText(found.added)}`);
  printLine(`Removed ${listText(found.removed)}`);
  section("Repriced", found.repriced);
  section("Corrected", found.corrected);
  section("Metadata changed", found.metadata);
  section("Series of indices", found.series.indices);
  printDiffering(found.series.differing ?? undefined);
  section("Series restated", found.series.restated?.map((item) => ({ ...item })) ?? null);
}

/** `snapshots verify`, if it finds no damage. `memory` is the file that remembers the log. */
export function printVerification(found: Omit<Verification, "newest">, memory?: string): void {
  const { checked, pruned, entries, signatures, files, bytes } = found;
  const snapshots = checked.length === 1 ? checked[0] : `${checked.length} snapshots`;
  printLine(`Whole: ${snapshots}, ${files} files, ${bytes} bytes`);
  printLine(`Log: ${counted(entries, "entry", "entries")}, each linked to those before`);
  for (const [signer, signed] of Map.groupBy(signatures, ({ fingerprint }) => fingerprint)) {
    const last = signed.at(-1)?.number;
    printLine(
      `Signed by ${signer}: ${counted(signed.length, "entry", "entries")}, the last is ${last}`,
    );
  }
  if (pruned.length > 0) printLine(`Pruned before: ${listText(pruned)}`);
  if (memory !== undefined) printLine(`${memory} remembers entry ${entries} of the log`);
}

export function printRollback(done: Rollback): void {
  const { outcome, snapshot, publication, before, withdrawn, not_begun, signature } = done;
  if (outcome === "unchanged") {
    return printLine(`Nothing to do: ${snapshot} is the head`);
  }
  printLine(`Rolled back from ${before} to ${snapshot}, publication ${publication}`);
  if (signature !== null) printLine(`Signed by ${signature.fingerprint}`);
  printLine(`Proxies follow at their next poll; the next publish builds on ${snapshot}.`);
  if (withdrawn.length > 0) {
    printLine(`To publish a withdrawn session again, give --revise: ${listText(withdrawn)}`);
  }
  if (not_begun.length > 0) printLine(`Not begun yet by the clock: ${listText(not_begun)}`);
}

/** `snapshots prune`. */
export function printPruning(pruning: Pruning): void {
  const { dry_run, snapshots, ledger_parts, objects, bytes, kept, signature } = pruning;
  const unpublished = snapshots.filter(({ orphan }) => orphan).length;
  const what = [
    counted(snapshots.length - unpublished, "snapshot"),
    ...(unpublished === 0 ? [] : [counted(unpublished, "unpublished folder")]),
    counted(ledger_parts.length, "ledger part"),
    `in all ${counted(objects, "object")} of ${counted(bytes, "byte")}`,
  ].join(", ");
  const stay = kept === 1 ? "1 snapshot stays" : `${kept} snapshots stay`;
  printLine(`${dry_run ? "Would remove" : "Removed"} ${what}; ${stay}`);
  if (signature !== null && !dry_run) printLine(`Signed by ${signature.fingerprint}`);
  section(
    dry_run ? "Would be removed" : "Removed",
    snapshots.map(({ name, orphan }) => ({
      snapshot: name,
      why: orphan ? "no publication names it" : "",
    })),
  );
}

/** Says which tiers may ask for more than a prune that keeps `keepDays` leaves. */
export function warnOfDepths(keepDays: number, nowMs: number): void {
  for (const tier of Object.values(TIERS)) {
    const days = vintageDays(tier, sessionAt(nowMs));
    const may = `${tier.name} may ask for answers of the last ${days} days (as_of, publication)`;
    const get = `answers of more than ${counted(keepDays, "day")} ago will be 410`;
    if (days > keepDays) printNotice(`warning: ${may}: ${get}`);
  }
}

export function printCopying(done: Copying): void {
  const { outcome, from, to, objects, bytes, removed, left_out, there, snapshots, head } = done;
  for (const line of left_out) printNotice(`warning: no snapshot names this input: ${line}`);
  const headText =
    head === null ? "" : `; the head is ${head.snapshot}, publication ${head.number}`;
  const whole = `${counted(snapshots, "snapshot")}${headText}`;
  if (outcome === "unchanged") {
    return printLine(`Nothing to do: ${to} holds all of ${from}, ${whole}`);
  }
  const what = `${counted(objects, "object")} of ${counted(bytes, "byte")}`;
  const isPlan = outcome === "planned";
  const verb = isPlan ? "Would copy" : "Copied";
  printLine(`${verb} ${what} from ${from} to ${to}; ${there} were there before`);
  const gone = `${counted(removed, "object")} that prunes took`;
  if (removed > 0) printLine(`${isPlan ? "Would remove" : "Removed"} ${gone}`);
  printLine(`${to} ${isPlan ? "would hold" : "holds"} ${whole}`);
}

/** `snapshots repair`, if all is whole now. */
export function printRepair({ from, put_back }: Repair): void {
  if (put_back.length === 0) return printLine("Nothing to do: all is whole");
  printLine(`Whole again: ${counted(put_back.length, "object")} put back from ${from}`);
  put_back.forEach(printLine);
}

export function printInputs({ snapshot, folder, inputs }: WrittenInputs): void {
  printLine(`Wrote ${counted(inputs.length, "input")} of ${snapshot} to ${folder}`);
  const rows = inputs.map(({ file, name, rows, bytes }) => ({ file, from: name, rows, bytes }));
  section("Inputs", rows);
}

/** Turns a manifest's `2026-11-21T00:00:00.000Z` into the form that commands take. */
const shortSession = (instant: string): string => {
  const session = parseSession(instant);
  return session === null ? instant : sessionKey(session);
};

/** A titled table of items under the names of their fields; nothing if there are none. */
function section(title: string, items: readonly Fields[] | null): void {
  if (items?.length === 0) return;
  printLine(`\n${title}`);
  if (items === null) return printLine(NOT_THERE);
  printRecords(items.slice(0, ROWS_SHOWN));
  if (items.length > ROWS_SHOWN) {
    printLine(`and ${items.length - ROWS_SHOWN} more; --json shows all`);
  }
}

function listText(items: readonly string[] | null): string {
  if (items === null) return NOT_THERE;
  if (items.length === 0) return "none";
  const more = items.length - ROWS_SHOWN;
  return items.slice(0, ROWS_SHOWN).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
