/** What the texts of src/site leave open: tables, limits and recorded answers, as Markdown. */
import type { GateLimits } from "../../../feed/finding.ts";
import { MICROS_PER_UNIT } from "../../../market/decimal.ts";
import { KEY_TIER_NAMES, TIER_NAMES, TIERS, type Tier } from "../../../market/tier.ts";
import { contractRecord } from "../../../render/schemas.ts";
import { SIGNED_MESSAGE } from "../../../snapshot/log/sign.ts";
import { delayText, historyText, tierTable } from "../../docs/tier-words.ts";
import { PROBLEMS } from "../../problems.ts";
import { exampleOf, shown } from "./answers.ts";
import { ORIGIN } from "./markdown.ts";

/** What holds at this service, for the texts. */
export interface Settings {
  /** Those that the served snapshot was published with. */
  readonly limits: GateLimits;
  /** How late a session may be before it is overdue. */
  readonly graceMs: number;
}

const SLOT = /\{\{([a-z-]+)(?: ([^}]+))?\}\}/g;
const MINUTE_MS = 60_000;
const READABLE = { listMax: 12, head: 2, tail: 2 };
const SHAPE = { listMax: 1, head: 1, tail: 0 };

/**
 * The text with all slots filled but `{{origin}}`, which stays. Throws for a slot that nothing fills;
 * settings are in the methodology only.
 */
export function withSlots(text: string, settings?: Settings): string {
  const figures = settings === undefined ? {} : figuresOf(settings);
  return text.replaceAll(SLOT, (slot, name: string, argument: string | undefined) => {
    const value = slot === ORIGIN ? slot : (figures[name] ?? MAKERS[name]?.(argument ?? ""));
    if (value === undefined) throw new Error(`Nothing fills the slot ${slot}`);
    return value;
  });
}

const figuresOf = ({ graceMs, limits }: Settings): Readonly<Record<string, string>> => ({
  "max-move": percent(limits.maxMoveMicros),
  "min-coverage": percent(limits.minCoverageMicros),
  "max-unchanged": String(limits.maxUnchangedSessions),
  "max-gap": String(limits.maxGapSessions),
  "max-carry-days": String(limits.maxCarryDays),
  "grace-minutes": String(graceMs / MINUTE_MS),
});

const percent = (micros: number): string => String(micros / MICROS_PER_UNIT);

/** Each makes Markdown from what stands after its name in the slot. */
const MAKERS: Readonly<Record<string, (argument: string) => string>> = {
  tiers: tierTable,
  timeliness: timelinessTable,
  fields: fieldTable,
  depths: () => KEY_TIER_NAMES.map((name) => `${historyText(TIERS[name])} (${name})`).join(" or "),
  "signed-message": () => SIGNED_MESSAGE,
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

function timelinessTable(): string {
  return perTier([
    ["delay", delayText],
    ["`delayed_sessions` while the publisher is punctual", (tier) => String(tier.delaySessions)],
    ["depth of history, corrections and series", historyText],
  ]);
}

function perTier(rows: readonly (readonly [name: string, text: (tier: Tier) => string])[]): string {
  return tableOf(
    ["", ...TIER_NAMES.map((name) => TIERS[name].title)],
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
