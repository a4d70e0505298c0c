/**
 * `report.html`: a session on one page, for the person who checks it. It is one file and loads nothing
 * from elsewhere: charts are SVG, the style sheet and the script are inline, and the page's content
 * security policy allows only these two, by digest.
 *
 * Numbers come from `market`, as in every other file of the snapshot; floating point only draws.
 */
import { createHash } from "node:crypto";
import type { Correction } from "../../ledger/corrections.ts";
import { movementOf, stillSessionsOf, type Movement } from "../../market/coverage.ts";
import { sessionKey, type Session } from "../../market/session.ts";
import { FULLEST } from "../../market/tier.ts";
import type { Judgement } from "../../snapshot/judgement.ts";
import { countsOf, recordsOf, tierView, type Market, type TierView } from "../../market/view.ts";
import { FILES } from "../../store/paths.ts";
import { priceIndices, type IndexWithSeries, type PricedIndex } from "../index-files.ts";
import { boardSection } from "./board.ts";
import {
  breaksSection,
  carriedSection,
  correctionsSection,
  delistedSection,
  droppedSection,
  judgementsSection,
  stillSection,
} from "./exceptions.ts";
import { placesHtml } from "../../site/contributions.js";
import { changesOfCloses, longestRange, RANGE_WORDS } from "../../site/levels.js";
import { changeHtml, escaped, foreign } from "../../site/text.js";
import { sessionHtml } from "./html.ts";
import { indicesSection, seriesCloses } from "./index.ts";
import { movesSection } from "./moves.ts";
import { REPORT_SCRIPT, REPORT_STYLE } from "./style.ts";

/** The content of the page, besides the market's indices. */
export interface ReportInput {
  readonly market: Market;
  readonly head: Session;
  /** Credit line of every payload. */
  readonly attribution: string;
  /** All corrections so far, oldest first. */
  readonly corrections: readonly Correction[];
  /** The findings that the run let through, and the rows that it held, ignored or rounded. */
  readonly judgements: readonly Judgement[];
  /** The run's options, as the manifest has them. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly program: { readonly name: string; readonly version: string };
}

/**
 * The whole page, with the market's `indices`. The same input gives the same text, at any time and in any time
 * zone. The page does not contain the snapshot's revision or its parent, so that `--rerender` of an equal page has
 * nothing to do.
 */
export function renderReport(input: ReportInput, indices: readonly IndexWithSeries[]): string {
  const { market, head, attribution, corrections, judgements, options, program } = input;
  const view = tierView(market, FULLEST, head);
  const records = recordsOf(view);
  const movement = movementOf(market.catalog, market.seriesOf, head, stillSessionsOf(options));
  const priced = priceIndices(market, view, indices);
  const composite = priced[0] as PricedIndex;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_SECURITY_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>Session ${sessionKey(head)}</title>
<link rel="icon" href="data:,">
<style>${REPORT_STYLE}</style>
</head>
<body>
<header>
<h1>Session ${sessionHtml(head)}</h1>
<p>${foreign(attribution)}</p>
<p>Next session ${sessionHtml(head + 1)}. ${FULLEST.title} tier: ${escaped(FULLEST.license)}</p>
${NAVIGATION}
</header>
<main>
${figures(view, composite, movement)}
${indicesSection(priced)}
${movesSection(records)}
${boardSection(records, head, market.maxCarryDays)}
${judgementsSection(judgements, market)}
${stillSection(movement, head)}
${carriedSection(market, view)}
${droppedSection(market, view)}
${delistedSection(view)}
${breaksSection(market, view)}
${correctionsSection(corrections, head, market)}
</main>
<footer>Made by ${escaped(program.name)} ${escaped(program.version)}. Beside this page: ${BESIDE.map(
    (path) => `<a href="${path}">${path}</a>`,
  ).join(", ")}.</footer>
<script type="module">${REPORT_SCRIPT}</script>
</body>
</html>
`;
}

const BESIDE = [
  FILES.manifest,
  FILES.corrections,
  FILES.board(FULLEST.name),
  FILES.index(FULLEST.name),
  FILES.csv(FULLEST.name),
  FILES.xlsx(FULLEST.name),
];

const ANCHORS = {
  indices: "Indices",
  moves: "Moves",
  board: "Board",
  judgements: "Judgements",
  still: "Still",
  carried: "Carried",
  dropped: "Dropped",
  delisted: "Delisted",
  breaks: "Breaks",
  corrections: "Corrections",
} as const;

const NAVIGATION = `<nav aria-label="Sections">${Object.entries(ANCHORS)
  .map(([id, name]) => `<a href="#${id}">${name}</a>`)
  .join("")}</nav>`;

/** The digest of an inline script or style sheet (CSP Level 3, hash-source). */
const digest = (text: string): string =>
  `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src ${digest(REPORT_SCRIPT)}`,
  `style-src ${digest(REPORT_STYLE)}`,
  "font-src data:",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** The numbers at the top of the page. They are the manifest's counts. */
function figures(view: TierView, composite: PricedIndex, { unchanged }: Movement): string {
  const closes = seriesCloses(composite);
  const changes = changesOfCloses(closes);
  const range = longestRange(changes);
  const change = changes[range] ?? null;
  const counts = countsOf(view);
  const facts: readonly [string, number][] = [
    ["Contracts", counts.contracts],
    ["Memory", counts.memory],
    ["Semiconductor", counts.semiconductor],
    ["Given", counts.given],
    ["Given unchanged", unchanged],
    ["Carried", counts.carried],
    ["Dropped", counts.dropped],
    ["Delisted", counts.delisted],
    ["No level so far", counts.withoutLevel],
  ];
  return `<dl class="figures">
<div class="headline"><dt>Composite, points</dt><dd>${placesHtml(closes.at(-1)?.text ?? null)}</dd>
<dd class="sub">${change === null ? "" : `${changeHtml(change)} % in ${RANGE_WORDS[range]}`}</dd></div>
${facts.map(([name, count]) => `<div><dt>${name}</dt><dd>${count}</dd></div>`).join("\n")}
</dl>`;
}
