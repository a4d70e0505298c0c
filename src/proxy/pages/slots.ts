/** What the texts of src/site leave open: tables, limits and recorded answers, as Markdown. */
import { USUAL_LIMITS } from "../../feed/finding.ts";
import { MICROS_PER_UNIT } from "../../market/decimal.ts";
import { TIER_NAMES, TIERS, type Tier, type TierName } from "../../market/tier.ts";
import { contractRecord } from "../../render/schemas.ts";
import { callsText, exportsText, historyFilesText, historyText } from "../docs/tier-words.ts";
import { PROBLEMS } from "../problems.ts";
import { exampleOf, shown } from "./answers.ts";
import { ORIGIN } from "./markdown.ts";

/** The settings of the proxy that the texts name. */
export interface Settings {
  /** How late a session may be before it is overdue. */
  readonly graceMs: number;
}

const SLOT = /\{\{([a-z-]+)(?: ([^}]+))?\}\}/g;
const MINUTE_MS = 60_000;
const READABLE = { listMax: 12, head: 2, tail: 2 };
const SHAPE = { listMax: 1, head: 1, tail: 0 };

/** The text with all slots filled but `{{origin}}`, which stays. Throws for a slot that nothing fills. */
export function withSlots(text: string, { graceMs }: Settings): string {
  const limits: Readonly<Record<string, string>> = {
    "max-move": percent(USUAL_LIMITS.maxMoveMicros),
    "min-coverage": percent(USUAL_LIMITS.minCoverageMicros),
    "max-unchanged": String(USUAL_LIMITS.maxUnchangedSessions),
    "max-carry-days": String(USUAL_LIMITS.maxCarryDays),
    "grace-minutes": String(graceMs / MINUTE_MS),
    "starter-history": historyText(TIERS.starter),
    "pro-history": historyText(TIERS.pro),
  };
  return text.replaceAll(SLOT, (slot, name: string, argument: string | undefined) => {
    const value = slot === ORIGIN ? slot : (limits[name] ?? MAKERS[name]?.(argument ?? ""));
    if (value === undefined) throw new Error(`Nothing fills the slot ${slot}`);
    return value;
  });
}

const percent = (micros: number): string => String(micros / MICROS_PER_UNIT);

/** Each makes Markdown from what stands after its name in the slot. */
const MAKERS: Readonly<Record<string, (argument: string) => string>> = {
  tiers: tierTable,
  timeliness: timelinessTable,
  fields: fieldTable,
  problems: problemTable,
  /** The recorded answer to a request. */
  answer: (request) => shown(exampleOf(request), READABLE),
  refusal: (request) => shown(exampleOf(request, true), READABLE),
  /** The same with one item of each list. */
  shape: (request) => shown(exampleOf(request), SHAPE),
  /** Some members of one: `GET /api/public/v1/index: level contributions`. */
  part: (argument) => {
    const [request = "", members = ""] = argument.split(": ");
    return shown(exampleOf(request), { ...READABLE, members: members.split(" ") });
  },
};

function tierTable(): string {
  return perTier([
    ["contracts", ({ coverage }) => (coverage === "all" ? "all" : "ten")],
    ["data", ({ delaySessions }) => behind(delaySessions)],
    ["history", historyText],
    ["as it was published then", historyText],
    ["indices", indicesText],
    ["exports of the board", exportsText],
    ["all histories in a file", historyFilesText],
    ["calls a month", callsText],
    ["keys", ({ keysPerAccount }) => String(keysPerAccount || "none")],
    ["licence", ({ license }) => license],
  ]);
}

function timelinessTable(): string {
  return perTier([
    ["delay", ({ delaySessions }) => behind(delaySessions)],
    ["`delayed_sessions` while the publisher is punctual", (tier) => String(tier.delaySessions)],
    ["depth of history, corrections and series", historyText],
  ]);
}

function indicesText({ index, baskets }: Tier): string {
  if (!index) return "none";
  return baskets ? "all, and your own baskets" : "all";
}

const HOURS_PER_SESSION = 12;

const behind = (sessions: number): string =>
  sessions === 0
    ? "the present session"
    : `${sessions === 1 ? "one session" : `${sessions} sessions`} (${sessions * HOURS_PER_SESSION} hours) behind`;

const NAMES: Readonly<Record<TierName, string>> = {
  free: "no key",
  starter: "starter",
  pro: "pro",
};

function perTier(rows: readonly (readonly [name: string, text: (tier: Tier) => string])[]): string {
  return tableOf(
    ["", ...TIER_NAMES.map((name) => NAMES[name])],
    rows.map(([name, text]) => [name, ...TIER_NAMES.map((tier) => cell(text(TIERS[tier])))]),
  );
}

function fieldTable(): string {
  const fields = Object.entries(contractRecord.shape);
  return tableOf(
    ["field", "what it says"],
    fields.map(([field, { description = "" }]) => [`\`${field}\``, cell(description)]),
  );
}

function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(([code, { status, meaning, remedy }]) => [
    `[\`${code}\`](docs#${code})`,
    String(status),
    cell(`${meaning} ${remedy}`),
  ]);
  return tableOf(["code", "status", "what it means, and what to do"], rows);
}

const tableOf = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Plain text in a cell of a table. */
const cell = (text: string): string => text.replaceAll(/[|<*\\]/g, String.raw`\$&`);
