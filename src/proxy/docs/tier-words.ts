/** The table of tiers in words: for the pages, the OpenAPI document and the README. */
import { FREE_SLICE_SIZE, TIER_NAMES, TIERS, type Tier } from "../../market/tier.ts";
import { SESSIONS_PER_DAY } from "../../market/session.ts";
import { counted, grouped } from "../../site/text.js";

/** A line of the table; the texts are plain. */
export interface TierRow {
  readonly label: string;
  /** What it is about in addresses: paths below `/api/public/v1`, or parameters. */
  readonly addresses?: readonly string[];
  /** `contracts`: how many a snapshot has for the tier, if it is known. */
  readonly text: (tier: Tier, contracts?: number) => string;
}

/** `1 session (12 hours) behind` or `live session`. */
export const delayText = ({ delaySessions }: Tier): string =>
  delaySessions === 0
    ? "live session"
    : `${counted(delaySessions, "session")} (${(delaySessions * 24) / SESSIONS_PER_DAY} hours) behind`;

/** `90 days`, `5 years` or `none`. */
export function historyText({ history }: Tier): string {
  if (history === null) return "none";
  return "days" in history ? `${history.days} days` : `${history.years} years`;
}

/** `25,000 per account`, or `unlimited`. */
function callsText({ keysPerAccount, callsPerMonth }: Tier): string {
  if (callsPerMonth === null) return "unlimited";
  return `${grouped(String(callsPerMonth), 0)} per ${keysPerAccount === 0 ? "network address" : "account"}`;
}

const FORMATS = { csv: "CSV", xlsx: "Excel", parquet: "Parquet" } as const;

/** `CSV and Excel`, or `none`. */
const formatsText = (formats: readonly (keyof typeof FORMATS)[]): string =>
  formats.map((format) => FORMATS[format]).join(" and ") || "none";

const yes = (is: boolean): string => (is ? "yes" : "no");

const SEEN: readonly TierRow[] = [
  {
    label: "Contracts",
    text: ({ coverage }, contracts) =>
      coverage === "all"
        ? ["all", ...(contracts === undefined ? [] : [contracts])].join(" ")
        : String(contracts ?? FREE_SLICE_SIZE),
  },
  { label: "Freshness", text: delayText },
  { label: "History of a contract", addresses: ["/prices/{id}"], text: historyText },
  {
    label: "Last 90 closes of each contract",
    addresses: ["/sparklines"],
    text: ({ history }) => yes(history !== null),
  },
  {
    label: "Indices with their series",
    addresses: ["/index", "/indices", "/indices.csv"],
    text: ({ index }) => yes(index),
  },
  {
    label: "Custom baskets, by weights or quantities",
    addresses: ["/index?ids="],
    text: ({ baskets }) => yes(baskets),
  },
];
const CALLS: TierRow = { label: "Calls a month", text: callsText };
const FILES: readonly TierRow[] = [
  {
    label: "Exports of the board",
    addresses: ["/export.csv", "/export.xlsx"],
    text: ({ exports }) => formatsText(exports),
  },
  {
    label: "All histories and levels in a file",
    addresses: ["/history.csv", "/levels.csv", "/history.parquet"],
    text: ({ historyFiles }) => formatsText(historyFiles),
  },
  {
    label: "All of this as it was published then",
    addresses: ["?publication=", "?as_of="],
    text: historyText,
  },
  { label: "Corrections of all contracts", addresses: ["/corrections"], text: historyText },
  {
    label: "SHA-256 of each file, for one call",
    addresses: ["/sums"],
    text: (tier) => (tier.history === null ? "newest publication" : historyText(tier)),
  },
];
const KEYS: TierRow = {
  label: "API keys of an account",
  text: ({ keysPerAccount }) => (keysPerAccount === 0 ? "none" : String(keysPerAccount)),
};
const USE: TierRow = { label: "Use and redistribution", text: ({ use }) => use.toLowerCase() };

export const TIER_ROWS: readonly TierRow[] = [...SEEN, CALLS, ...FILES, KEYS, USE];
/** The same lines by what they are about. */
export const TIER_GROUPS: readonly (readonly [name: string, rows: readonly TierRow[]])[] = [
  ["What you see", SEEN],
  ["History and files", FILES],
  ["Calls and keys", [CALLS, KEYS]],
  ["Terms", [USE]],
];

export const tierTable = (): string =>
  tableByTier(
    TIER_ROWS.map(({ label, addresses = [], text }) => [
      [label, ...addresses.map((address) => `\`${address}\``)].join(", "),
      text,
    ]),
  );

/** A table in Markdown with a column for each tier. The labels are Markdown, the texts plain. */
export const tableByTier = (
  rows: readonly (readonly [label: string, text: (tier: Tier) => string])[],
): string =>
  markdownTable(
    ["", ...TIER_NAMES.map((name) => TIERS[name].title)],
    rows.map(([label, text]) => [label, ...TIER_NAMES.map((name) => plainCell(text(TIERS[name])))]),
  );

export const markdownTable = (
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string =>
  [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

export const plainCell = (text: string): string => text.replaceAll(/[|<*\\]/g, String.raw`\$&`);
