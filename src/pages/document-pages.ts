/**
 * The documents of src/site/documents, which `npm run regenerate` makes, as this service sends them: in the frame
 * of its pages, with its address, its limits and contracts of its market.
 */
import { textOf, utf8 } from "../lib/bytes.ts";
import { MINUTE_MS } from "../lib/clock.ts";
import { limitsOf, USUAL_LIMITS } from "../feed/finding.ts";
import { ENTERPRISE_LICENCE, FULLEST } from "../market/tier.ts";
import { formatMicros } from "../market/decimal.ts";
import { HTML_TYPE, JSON_TYPE } from "../store/media-types.ts";
import { FILES } from "../store/paths.ts";
import { pythonClient, siteFile } from "../site/site-files.ts";
import type { Board } from "../site/board.js";
import { counted, escaped } from "../site/text.js";
import { fillSlots, RECORDED_CONTRACTS, type SlotValues } from "./document-slots.ts";
import type { LiveSnapshot } from "../core/world.ts";
import { PAGES, UNCOUNTED_ROUTES } from "../public/uncounted-routes.ts";
import { contactOf, type PlanTerms } from "./plan-terms.ts";
import type { PageSource } from "../core/serve/document.ts";
import { fileAt, framePage } from "./page-frame.ts";

const PROSE = { script: "prose.js", styles: ["prose.css"] };

const FRAMED = [
  { path: PAGES.guide.path, title: "Guide", ...PROSE },
  { path: PAGES.alerts.path, title: "Alerts", ...PROSE },
  { path: PAGES.methodology.path, title: "Methodology", ...PROSE },
  { path: PAGES.changelog.path, title: "Changelog", ...PROSE },
  {
    path: PAGES.reference.path,
    title: "API reference",
    script: "reference.js",
    styles: ["reference.css"],
  },
];
/** These have no frame. */
const PLAIN = [
  PAGES.guideMarkdown,
  PAGES.methodologyMarkdown,
  PAGES.llms,
  UNCOUNTED_ROUTES.openApi,
];

/** All documents, with their slots. */
export const documentPages = (): PageSource[] => [
  ...FRAMED.map((page) => framePage({ ...page, main: siteFile(`documents${page.path}.html`) })),
  ...PLAIN.map(({ path }) => fileAt(path, siteFile(`documents${path}`))),
  fileAt(PAGES.client.path, pythonClient()),
];

/** How a value stands in a document of this type. */
const CODED: Readonly<Record<string, (value: string) => string>> = {
  [HTML_TYPE]: escaped,
  [JSON_TYPE]: (value) => JSON.stringify(value).slice(1, -1),
};

export function filledDocument(document: PageSource, values: SlotValues): PageSource {
  const coded = CODED[document.mediaType] ?? String;
  return { ...document, body: utf8(fillSlots(textOf(document.body), values, coded)) };
}

/** The settings of a service that its documents name. */
export interface Settings {
  /** The address that callers use: `publicUrl`, or the socket's address. */
  readonly origin: string;
  readonly publicUrl?: string | null;
  /** How late a session may be before it is overdue. */
  readonly graceMs: number;
  readonly plans?: PlanTerms | undefined;
}

/** The permission if the publisher gives no other: the licence of the tiers. */
const NO_EVIDENCE = `To show an evidence file outside needs the publisher's permission. ${ENTERPRISE_LICENCE}`;

/** How far the examples of alerts are from the level. */
const ALERT_SHARE = 0.1;
/** The level in them while there is none: two of its digits are enough in any unit. */
const ALERT_LEVEL_USD = 5;

/**
 * The values of the slots while this snapshot is served, with the board of its free slice; null: there is none.
 */
export function slotValues(
  { origin, publicUrl = null, graceMs, plans = {} }: Settings,
  snapshot: LiveSnapshot | null,
  board: Pick<Board, "memory" | "semiconductor"> | null,
): SlotValues {
  const limits = snapshot === null ? USUAL_LIMITS : limitsOf(snapshot.options);
  const slots = Object.keys(RECORDED_CONTRACTS);
  // It has every address that was told for a tier.
  const plansPage = `${origin}${PAGES.plans.path}`;
  const [contactKind, contact] = contactOf(plans) ?? ["url", plansPage];
  const served = exampleIds(snapshot).slice(0, slots.length);
  const rows = board === null ? [] : [...board.memory, ...board.semiconductor];
  const level = rows.find(({ id }) => id === served[0])?.spot_usd ?? ALERT_LEVEL_USD;
  const near = (share: number): string => String(Number((level * (1 + share)).toPrecision(2)));
  return {
    ...RECORDED_CONTRACTS,
    ...Object.fromEntries(served.map((id, at) => [slots[at], id])),
    origin,
    root: publicUrl ?? "",
    server: publicUrl ?? "/",
    "contact-kind": contactKind,
    contact,
    terms: plans.terms_url ?? plansPage,
    evidence: plans.evidence ?? NO_EVIDENCE,
    above: near(ALERT_SHARE),
    below: near(-ALERT_SHARE),
    "max-move": formatMicros(limits.maxMoveMicros),
    "max-index-move": formatMicros(limits.maxIndexMoveMicros),
    "max-board-move": formatMicros(limits.maxBoardMoveMicros),
    "min-coverage": formatMicros(limits.minCoverageMicros),
    "max-unchanged": sessionsText(limits.maxUnchangedSessions),
    "max-gap": sessionsText(limits.maxGapSessions),
    "max-carry-days": String(limits.maxCarryDays),
    "grace-minutes": String(graceMs / MINUTE_MS),
  };
}

/** Contracts of the free slice that have a record: first one of each segment, then the others. */
export function exampleIds(snapshot: LiveSnapshot | null): readonly string[] {
  const open = (snapshot?.free ?? []).filter(
    ({ id, delistedOn }) =>
      delistedOn === null && snapshot?.files.has(FILES.contract(FULLEST.name, id)),
  );
  const firsts = open.filter(
    ({ segment }, at) => open.findIndex((contract) => contract.segment === segment) === at,
  );
  return [...new Set([...firsts, ...open])].map(({ id }) => id);
}

/** The largest limit that a publisher can give. */
const NO_LIMIT_SESSIONS = 99_999;

const sessionsText = (sessions: number): string =>
  sessions >= NO_LIMIT_SESSIONS ? "no limit" : counted(sessions, "session");
