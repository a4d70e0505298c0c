/** What a publish says when it is done: five lines for people, one object for machines. */
import { snapshotText, snapshotFolder } from "../store/paths.ts";
import type { PublishResult } from "./publish.ts";

const NAMES_SHOWN = 8;

export function summaryLines(result: PublishResult, location: string): string[] {
  const { manifest, snapshot, publication, outcome } = result;
  const { counts, carried, dropped, corrected } = manifest;
  const name = snapshotText(snapshot);
  const headline = {
    published: `Published ${name} as publication ${publication}`,
    planned: `Dry run: would publish ${name}; nothing was written`,
    unchanged: `Nothing to do: ${name} is the head and holds the same`,
  }[outcome];
  return [
    headline,
    `Board      ${counts["memory"]} memory and ${counts["semiconductor"]} semiconductor contracts of ${counts["contracts"]} in the catalog`,
    `Levels     ${counts["given"]} for the session; carried ${named(carried)}; dropped ${named(dropped)}`,
    `Corrected  ${corrected.length === 0 ? "nothing" : named(corrected.map(({ contract }) => ({ id: contract })))}`,
    `Files      ${counts["files"]} of ${counts["bytes"]} bytes in ${location}/${snapshotFolder(snapshot)}`,
  ];
}

export const resultView = (result: PublishResult, location: string): object => ({
  outcome: result.outcome,
  session_utc: result.manifest.session_utc,
  revision: result.snapshot.revision,
  snapshot: snapshotText(result.snapshot),
  publication: result.publication,
  identity: result.manifest.identity,
  store: location,
  counts: result.manifest.counts,
  carried: result.manifest.carried,
  dropped: result.manifest.dropped,
  corrected: result.manifest.corrected,
});

function named(items: readonly { readonly id: string }[]): string {
  if (items.length === 0) return "0";
  const shown = items.slice(0, NAMES_SHOWN).map(({ id }) => id);
  const more = items.length - shown.length;
  return `${items.length} (${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""})`;
}
