/** The table of tiers in words: for the page of plans, the OpenAPI document and docs/reference. */
import { FREE_SLICE_SIZE, TIER_NAMES, TIERS, type Tier } from "../market/tier.ts";
import { SESSIONS_PER_DAY } from "../market/session.ts";
import { counted } from "../lib/text.ts";
import { VINTAGE } from "./parameters.ts";
import { API, DATA_ROUTES, SUMS_ROUTE, type PlanRow, type Route } from "./routes.ts";
import { UNCOUNTED_ROUTES } from "./uncounted-routes.ts";

/** The groups of the table, in their order. */
export const TIER_GROUPS = [
  "What you see",
  "History and files",
  "Calls and keys",
  "Terms",
] as const;

/** The words of a line, as plain text. */
interface Line {
  readonly group: (typeof TIER_GROUPS)[number];
  readonly label: string;
  /** `contracts`: how many a snapshot has for the tier, if it is known. */
  readonly text: (tier: Tier, contracts?: number) => string;
}

/** The lines by name. Lines of routes have the names that the routes give. */
type LineName = PlanRow | "freshness" | "baskets" | "calls" | "vintages" | "keys" | "use";

/** A line with the addresses that it is about: paths below `/api/public/v1`, or parameters. */
export interface TierRow extends Line {
  readonly name: LineName;
  readonly addresses: readonly string[];
}

/** `1 session (12 hours) behind` or `live session`. */
export const delayText = ({ delaySessions }: Tier): string =>
  delaySessions === 0
    ? "live session"
    : `${counted(delaySessions, "session")} (${(delaySessions * 24) / SESSIONS_PER_DAY} hours) behind`;

/** `90 days`, `5 years` or `none`. */
export function historyText({ history }: Tier): string {
  if (history === null) return "none";
  return "days" in history ? counted(history.days, "day") : counted(history.years, "year");
}

/** `25,000 per account`, or `unlimited`. */
function callsText({ keysPerAccount, callsPerMonth }: Tier): string {
  if (callsPerMonth === null) return "unlimited";
  return `${callsPerMonth.toLocaleString("en-US")} per ${keysPerAccount === 0 ? "network address" : "account"}`;
}

const FORMATS = { csv: "CSV", json: "JSON", xlsx: "Excel", parquet: "Parquet" } as const;

/** `CSV and Excel`, or `none`. */
const formatsText = (formats: readonly (keyof typeof FORMATS)[]): string =>
  formats.map((format) => FORMATS[format]).join(" and ") || "none";

const yes = (is: boolean): string => (is ? "yes" : "no");

const LINES: Readonly<Record<LineName, Line>> = {
  contracts: {
    group: "What you see",
    label: "Contracts",
    text: ({ coverage }, contracts) =>
      coverage === "all"
        ? ["all", ...(contracts === undefined ? [] : [contracts])].join(" ")
        : String(contracts ?? FREE_SLICE_SIZE),
  },
  catalog: {
    group: "What you see",
    label: "Names, units and sources of all contracts, for no call",
    text: () => yes(true),
  },
  freshness: { group: "What you see", label: "Freshness", text: delayText },
  history: { group: "What you see", label: "History of a contract", text: historyText },
  closes: {
    group: "What you see",
    label: "Last 90 closes of each contract",
    text: ({ history }) => yes(history !== null),
  },
  indices: {
    group: "What you see",
    label: "Indices with their series",
    text: ({ index }) => yes(index),
  },
  baskets: {
    group: "What you see",
    label: "Custom baskets, by weights or quantities",
    text: ({ baskets }) => yes(baskets),
  },
  calls: { group: "Calls and keys", label: "Calls a month", text: callsText },
  exports: {
    group: "History and files",
    label: "Exports of the board",
    text: ({ exports }) => formatsText(exports),
  },
  histories: {
    group: "History and files",
    label: "All histories and levels in a file",
    text: ({ historyFiles }) => formatsText(historyFiles),
  },
  superseded: {
    group: "History and files",
    label: "The time since which each level is known, and its earlier values",
    text: ({ superseded }) => yes(superseded),
  },
  members: {
    group: "History and files",
    label: "The members of each index, by day",
    text: ({ superseded }) => yes(superseded),
  },
  settlements: {
    group: "History and files",
    label: "Settlements of months, which never change",
    text: (tier) =>
      tier.settlements.length === 0
        ? "none"
        : `${historyText(tier)} as ${formatsText(tier.settlements)}`,
  },
  vintages: {
    group: "History and files",
    label: "Point-in-time data (vintages)",
    text: historyText,
  },
  corrections: {
    group: "History and files",
    label: "Corrections of all contracts",
    text: historyText,
  },
  sums: {
    group: "History and files",
    label: "SHA-256 of each file, for one call",
    text: (tier) => (tier.history === null ? "newest publication" : historyText(tier)),
  },
  keys: {
    group: "Calls and keys",
    label: "API keys of an account",
    text: ({ keysPerAccount }) => (keysPerAccount === 0 ? "none" : String(keysPerAccount)),
  },
  use: { group: "Terms", label: "Use and redistribution", text: ({ use }) => use.toLowerCase() },
};

const ROUTES: readonly Route[] = [
  ...Object.values(DATA_ROUTES),
  SUMS_ROUTE,
  ...Object.values(UNCOUNTED_ROUTES),
];

/** They follow from the routes, so that no route is missing. */
function addressesOf(name: LineName): readonly string[] {
  if (name === "vintages") return VINTAGE.map((parameter) => `?${parameter.name}=`);
  const routes = ROUTES.map((route) => ({ ...route, below: route.path.slice(API.length) }));
  if (name === "baskets") {
    return routes.flatMap(({ below, computedBy = [] }) =>
      computedBy.slice(0, 1).map((parameter) => `${below}?${parameter.name}=`),
    );
  }
  return routes.filter(({ planRow }) => planRow === name).map(({ below }) => below);
}

export const TIER_ROWS: readonly TierRow[] = (Object.keys(LINES) as LineName[]).map((name) => ({
  name,
  ...LINES[name],
  addresses: addressesOf(name),
}));

export const tierTable = (): string =>
  tableByTier(
    TIER_ROWS.map(({ label, addresses, text }) => [
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

const markdownTable = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const plainCell = (text: string): string => text.replaceAll(/[|<*\\]/g, String.raw`\$&`);
