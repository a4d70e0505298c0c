/** The result of a publish as a few lines for people, as Markdown, and as JSON for programs. */
import { limitsOf } from "../feed/finding.ts";
import { byLargestChange } from "../market/change.ts";
import type { ChipboardError } from "../lib/errors.ts";
import { plainText, type Cell, type Fields } from "../lib/terminal.ts";
import { carryLimitDays } from "../market/contract.ts";
import { formatMicros } from "../market/decimal.ts";
import { parseSession, sessionKey, sessionUtc, type Session } from "../market/session.ts";
import { snapshotText, snapshotFolder } from "../store/paths.ts";
import { DIFFERING_NOTE, differingText } from "../snapshot/differing.ts";
import { judgementRows, judgementText } from "../snapshot/judgement.ts";
import type { PublishResult } from "./release.ts";

const NAMES_SHOWN = 8;
const ROWS_SHOWN = 10;
const DETAILS_SHOWN = 100;

/** The lines for a terminal. `location` is the store's. */
export function summaryLines(result: PublishResult, location: string): string[] {
  const { manifest, snapshot } = result;
  const { counts, carried, dropped, delisted, corrected, judgements } = manifest;
  const signature = signatureOf(result);
  return [
    headlineOf(result),
    `Board      ${counts["memory"]} memory and ${counts["semiconductor"]} semiconductor contracts of ${counts["contracts"]} in the catalog`,
    `Levels     ${counts["given"]} for the session; carried ${countedNames(carried)}; dropped ${countedNames(dropped)}${delisted.length === 0 ? "" : `; delisted ${countedNames(delisted)}`}`,
    ...renamedLines(result).map((line) => `Segment    ${line}`),
    ...closedLines(manifest).map((line) => `Closed     ${line}`),
    ...unchangedLines(result).map((line) => `Unchanged  ${line}`),
    ...carryLines(result).map((line) => `Carry      ${line}`),
    `Corrected  ${corrected.length === 0 ? "nothing" : countedNames(corrected.map(({ contract }) => ({ id: contract })))}`,
    `Files      ${counts["files"]} of ${counts["bytes"]} bytes in ${location}/${snapshotFolder(snapshot)}`,
    ...differingLines(manifest).map((line) => `Series     ${line}`),
    ...judgements.slice(0, NAMES_SHOWN).map((item) => `Judgement  ${judgementText(item)}`),
    ...(judgements.length > NAMES_SHOWN
      ? [`           and ${judgements.length - NAMES_SHOWN} more`]
      : []),
    ...(signature === null ? [] : [`Signature  ${signature}`]),
  ];
}

/** The same for a CI job's summary page, with the largest moves (GitHub Flavored Markdown). */
export function summaryMarkdown(result: PublishResult, location: string): string {
  const { counts, carried, dropped, delisted, corrected, judgements, reason, movement } =
    result.manifest;
  const { differing_closes: differing = [] } = result.manifest;
  const signature = signatureOf(result);
  const moves = byLargestChange(result.board, ({ changePct }) => changePct["24h"]);
  const blocks = [
    `## ${headlineOf(result)}`,
    ...(reason === null ? [] : [`Reason: ${escapeMarkdown(reason)}`]),
    tableOf(Object.entries(counts).map(([what, count]) => ({ what, count }))),
    ...[
      ...renamedLines(result).map((line) => `segment ${escapeMarkdown(line)}`),
      ...closedLines(result.manifest),
      ...unchangedLines(result),
      ...carryLines(result),
    ].map((line) => `${line.charAt(0).toUpperCase()}${line.slice(1)}.`),
    ...listing(
      "Judgements",
      judgementRows(judgements).map(({ by: _by, why: _why, ...item }) => item),
    ),
    ...listing(
      "Largest moves in 24 hours",
      moves.map(({ item: { contract, level }, change }) => ({
        id: contract.id,
        spot_usd: formatMicros(level.usd),
        chg_24h_pct: change,
      })),
    ),
    ...listing("Standing still", movement?.still ?? []),
    ...listing("Carried", carried),
    ...listing("Dropped", dropped),
    ...listing("Delisted", delisted),
    ...listing("Corrected", corrected),
    ...listing("Closes that differ from the values as known now", differing),
    ...(differing.length === 0 ? [] : [`${DIFFERING_NOTE}.`]),
    `${counts["files"]} files of ${counts["bytes"]} bytes in \`${location}/${snapshotFolder(result.snapshot)}\``,
    ...(signature === null ? [] : [`Signature ${signature}`]),
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** The summary of a run that was refused or failed: why, and the way on. */
export function failureMarkdown({ message, details, exitCode }: ChipboardError): string {
  const line = (text: string): string => escapeMarkdown(plainText(text));
  const lines = details.slice(0, DETAILS_SHOWN).map((detail) => `- ${line(detail)}`);
  const more = details.length - lines.length;
  const blocks = [
    `## ${line(message)}`,
    ...(lines.length === 0 ? [] : [lines.join("\n")]),
    ...(more > 0 ? [`and ${more} more`] : []),
    `Exit code ${exitCode}`,
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** The object that `--json` prints. Scripts rely on its names. */
export const resultView = (result: PublishResult, location: string): object => ({
  outcome: result.outcome,
  session_utc: result.manifest.session_utc,
  revision: result.snapshot.revision,
  snapshot: snapshotText(result.snapshot),
  publication: result.publication,
  identity: result.manifest.identity,
  store: location,
  signature: result.signing,
  counts: result.manifest.counts,
  carried: result.manifest.carried,
  dropped: result.manifest.dropped,
  delisted: result.manifest.delisted,
  corrected: result.manifest.corrected,
  differing_closes: result.manifest.differing_closes ?? [],
  judgements: result.manifest.judgements,
  renamed_segments: (result.renamedSegments ?? []).map(({ formerName, ...item }) => ({
    ...item,
    former_name: formerName,
  })),
  movement: result.manifest.movement ?? null,
  unmoved_since_utc: result.unmovedSince === null ? null : sessionUtc(result.unmovedSince),
});

/** The segments that go on under another id. */
const renamedLines = ({ renamedSegments = [] }: PublishResult): string[] =>
  renamedSegments.map(
    ({ from, to, name, formerName }) =>
      `${JSON.stringify(formerName)} is now ${JSON.stringify(name)}: its index ${from} goes on${from === to ? "" : ` as ${to}`}`,
  );

/** The indices whose published closes corrections have overtaken. */
function differingLines({ differing_closes: differing = [] }: PublishResult["manifest"]): string[] {
  if (differing.length === 0) return [];
  const lines = differing.slice(0, NAMES_SHOWN).map(differingText);
  const more = differing.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more indices`] : []), DIFFERING_NOTE];
}

const closedLines = ({ options }: PublishResult["manifest"]): string[] =>
  options["closed_day"] === true ? ["a closed day: sparse and unchanged refuse nothing"] : [];

/** The levels that have not moved: a line for all of them, and one for the contracts that stand still. */
function unchangedLines({ manifest: { movement }, unmovedSince }: PublishResult): string[] {
  const { given = 0, unchanged = 0, still = [] } = movement ?? {};
  const some = unchanged === 0 ? [] : [`${unchanged} of ${given} given levels`];
  return [
    ...(unmovedSince === null ? some : [`no level has moved since ${sessionKey(unmovedSince)}`]),
    ...(still.length === 0 ? [] : [`standing still: ${countedNames(still.map(stillText))}`]),
  ];
}

/** The contracts on the boards whose cadence makes them carried longer than others. */
function carryLines({ board, manifest }: PublishResult): string[] {
  const { maxCarryDays } = limitsOf(manifest.options);
  const longer = board.flatMap(({ contract }) => {
    const days = carryLimitDays(contract, maxCarryDays);
    return contract.maxCarryDays === null && days > maxCarryDays
      ? [{ id: `${contract.id} up to ${days} days` }]
      : [];
  });
  return longer.length === 0
    ? []
    : [`by cadence, not for ${maxCarryDays} days: ${countedNames(longer)}`];
}

const stillText = ({ id, since_utc: since }: { id: string; since_utc: string }) => ({
  id: `${id} since ${sessionKey(parseSession(since) as Session)}`,
});

function countedNames(items: readonly { readonly id: string }[]): string {
  if (items.length === 0) return "0";
  const names = items.slice(0, NAMES_SHOWN).map(({ id }) => id);
  const more = items.length - names.length;
  return `${items.length} (${names.join(", ")}${more > 0 ? ` and ${more} more` : ""})`;
}

function headlineOf({ snapshot, publication, outcome }: PublishResult): string {
  const name = snapshotText(snapshot);
  return {
    published: `Published ${name} as publication ${publication}`,
    planned: `Dry run: would publish ${name}; nothing was written`,
    unchanged: `Nothing to do: ${name} is the head and holds the same`,
  }[outcome];
}

function signatureOf({ signing }: PublishResult): string | null {
  if (signing === null) return null;
  return `${signing.outcome === "planned" ? "would be " : ""}by ${signing.fingerprint}`;
}

/** A titled table; nothing without items. */
function listing(title: string, items: readonly Fields[]): string[] {
  if (items.length === 0) return [];
  const more = items.length - ROWS_SHOWN;
  const rest = more > 0 ? [`and ${more} more`] : [];
  return [`### ${title}`, tableOf(items.slice(0, ROWS_SHOWN)), ...rest];
}

/** Items under the names of their fields. */
function tableOf(items: readonly Fields[]): string {
  const names = Object.keys(items[0] ?? {});
  const rows = items.map((item) => names.map((name) => cellOf(item[name] ?? "none")));
  return [names, names.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** Ids, numbers and dates stay as they are. */
const cellOf = (value: Cell): string => {
  const text = plainText(String(value));
  return /^[A-Za-z0-9.:+-]*$/.test(text) ? text : escapeMarkdown(text);
};

/** Escapes a person's text, so that Markdown takes no character of it for markup. */
const escapeMarkdown = (text: string): string => text.replace(/[\\`*_{}[\]<>()#+\-.!|~&]/g, "\\$&");
