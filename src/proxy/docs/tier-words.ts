/** What the table of tiers says, in the words of the pages and of the OpenAPI document. */
import type { Tier } from "../../market/tier.ts";

/** `90 days`, `5 years` or `none`. */
export function historyText({ history }: Tier): string {
  if (history === null) return "none";
  return "days" in history ? `${history.days} days` : `${history.years} years`;
}

/** `csv, xlsx` or `none`. */
export const exportsText = ({ exports }: Tier): string => exports.join(", ") || "none";

/** `csv, parquet` or `none`. */
export const historyFilesText = ({ historyFiles }: Tier): string =>
  historyFiles.join(", ") || "none";

/** Calls a month: `25,000` or `unlimited`. */
export const callsText = ({ callsPerMonth }: Tier): string =>
  callsPerMonth?.toLocaleString("en-US") ?? "unlimited";
