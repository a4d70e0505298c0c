/**
 * The guide for those who read prices: how to call, what comes back, how to go on asking, and how
 * the numbers are made. Tiers and problems come from their tables; the answers shown were given
 * (examples.json, which a test compares with what the proxy answers).
 */
import { TIER_NAMES, TIERS, type Tier } from "../../market/tier.ts";
import { PROGRAM } from "../../lib/version.ts";
import { contractRecord } from "../../render/schemas.ts";
import examples from "./examples.json" with { type: "json" };
import { escaped } from "./html.ts";
import { INDICES } from "./guide-indices.ts";
import { NUMBERS, POLLING, RECIPES } from "./guide-text.ts";
import { asPublished, copying } from "./guide-vintages.ts";
import { PROBLEMS } from "../problems.ts";
import { API, DOCS_PATH } from "../routes.ts";
import { callsText, exportsText, historyFilesText, historyText } from "./tier-words.ts";

const STYLE = `
body { font: 16px/1.5 sans-serif; color: #26303d; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
pre { background: #f2f4f8; padding: .6rem .8rem; overflow-x: auto; font-size: 13px; line-height: 1.4; }
code { font-size: 14px; } table { border-collapse: collapse; } h2 { margin-top: 2.2rem; }
.wide { overflow-x: auto; }
td, th { border-bottom: 1px solid #d8dde7; padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
@media (prefers-color-scheme: dark) {
  body { background: #14181f; color: #d9e0ea; } pre { background: #1f2630; } a { color: #8db8ff; }
  td, th { border-color: #39424f; }
}`;

/** The page, with styles in it; it loads nothing. */
export const guidePage = (): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${PROGRAM.name}: a guide for readers of prices</title>
<link rel="icon" href="data:,">
<link rel="alternate" type="application/atom+xml" href="feed.atom">
<style>${STYLE}</style>
</head>
<body>
<h1>Reading prices</h1>
<p>Price levels of memory and semiconductor contracts, published every 12 hours, at 00:00 and 12:00
UTC. Everything is a GET and answers in JSON, but for exports and history files. The levels on this page are
made up; ask the service for real ones. <a href=".${DOCS_PATH}">The reference</a> has every field.</p>
<p>${CONTENTS.map(([id, title]) => `<a href="#${id}">${title}</a>`).join(" · ")}</p>

<h2 id="first-call">First call</h2>
<pre>curl -s https://HOST/api/public/v1/prices</pre>
<p>Without a key you see ten contracts, one session behind.</p>
${shown("GET /api/public/v1/prices")}

<h2 id="keys">Keys and tiers</h2>
<p>Send the key you were given in a header field, as <code>Authorization: Bearer KEY</code> or
<code>x-api-key: KEY</code>. Never in the address: those end up in logs, and the service refuses it.</p>
${tierTable()}
<p>A 200 or 206 costs one call; a 304, a refusal and <code>/usage</code> cost none (a 304 to
<code>If-None-Match: *</code> costs one). Every answer says what is
left in <code>x-ratelimit-remaining</code> (2147483647 stands for no limit). When nothing is left, a
request with <code>If-None-Match</code> is refused as well. Without a key calls are counted for your
network address. Programs that ask for user and password can
send the key as the password, or as the user without a password (<code>Basic</code>). Any other scheme in
<code>Authorization</code> counts as no key.</p>

<h2 id="addresses">Addresses</h2>
<p>Long lists are cut here.</p>
${examples
  .filter(({ request, status }) => status === 200 && PRESENT.test(request))
  .slice(1)
  .map(({ request }) => shown(request))
  .join("\n")}
<p><code>/export.xlsx</code> is the board as a workbook, and <code>/history.parquet</code> has the rows of
<code>/history.csv</code>, both for the tier pro.</p>
<p>Files to download (<code>accept-ranges: bytes</code>) come in parts, too: one range of bytes in
<code>Range</code> gets a 206 with that part of the uncoded file, at the cost of a call. Send the
<code>ETag</code> of the first part in <code>If-Range</code>, and you get the whole file if it is another
one by then. The ETag of a compressed answer is not that of the uncoded file.</p>

<h2 id="fields">Fields of a record</h2>
<p>The exports have the same values. Look for columns by name: later versions add some. What a snapshot
of an older version does not have is missing in its answers.</p>
<div class="wide"><table><tr><th>field</th><th>what it says</th></tr>
${Object.entries(contractRecord.shape)
  .map(([field, { description = "" }]) => row([`<code>${field}</code>`, escaped(description)]))
  .join("\n")}
</table></div>

${POLLING}

<h2 id="problems">When something is refused</h2>
<p>Every refusal is a problem document (RFC 9457). Look at its <code>code</code>; the text is for
people and may change.</p>
${shown("GET /api/public/v1/index", null)}
${shown("GET /api/public/v1/index?ids=ddr5-16gb,ddr6&weights=60,0")}
<div class="wide"><table><tr><th>code</th><th>status</th><th>what it means, and what to do</th></tr>
${Object.entries(PROBLEMS)
  .map(([code, { status, meaning, remedy }]) =>
    row([`<code>${code}</code>`, String(status), escaped(`${meaning} ${remedy}`)]),
  )
  .join("\n")}
</table></div>

${NUMBERS}

${INDICES}

${asPublished(shown(`GET ${API}/history.csv?publication=1`))}

${copying()}

${RECIPES}
</body>
</html>
`;

/** The sections of the page. */
const CONTENTS = [
  ["first-call", "First call"],
  ["keys", "Keys and tiers"],
  ["addresses", "Addresses"],
  ["fields", "Fields"],
  ["polling", "Polling"],
  ["problems", "Refusals"],
  ["numbers", "Numbers"],
  ["indices", "Indices"],
  ["as-published", "Back-tests"],
  ["copy", "A copy"],
  ["recipes", "Recipes"],
];

/** Requests for present data. */
const PRESENT = new RegExp(`^GET ${API}/(?!.*publication=)`);

type Example = (typeof examples)[number];

/** A request with the answer it got. */
function shown(request: string, tier?: string | null): string {
  const found = examples.find(
    (example) => example.request === request && (tier === undefined || example.tier === tier),
  ) as Example;
  const key = found.tier === null ? "no key" : `a key of the tier ${found.tier}`;
  return (
    `<p><code>${escaped(request)}</code>, ${key}: ${found.status}</p>\n` +
    `<pre>${escaped(readable(found.body))}</pre>`
  );
}

/** JSON with a member a line where it is an object, without the middle of long lists; what is CSV as it is. */
const readable = (body: string): string =>
  body.startsWith("{") ? JSON.stringify(JSON.parse(body), cut, 1) : body.replaceAll("\r", "");

const LONG_LIST = 12;

const cut = (_key: string, value: unknown): unknown =>
  Array.isArray(value) && value.length > LONG_LIST
    ? [...value.slice(0, 2), `… ${value.length - 4} more`, ...value.slice(-2)]
    : value;

function tierTable(): string {
  const line = (name: string, value: (tier: Tier) => string): string =>
    row([name, ...TIER_NAMES.map((tier) => escaped(value(TIERS[tier])))]);
  return `<div class="wide"><table><tr><th></th>${TIER_NAMES.map((name) => `<th>${name === "free" ? "no key" : name}</th>`).join("")}</tr>
${[
  line("contracts", ({ coverage }) => (coverage === "all" ? "all" : "ten")),
  line("sessions behind", ({ delaySessions }) => String(delaySessions)),
  line("history", historyText),
  line("indices", ({ index, baskets }) =>
    index ? (baskets ? "all, and own baskets" : "all") : "no",
  ),
  line("exports", exportsText),
  line("all histories in a file", historyFilesText),
  line("calls a month", callsText),
  line("licence", ({ license }) => license),
].join("\n")}
</table></div>`;
}

const row = (cells: readonly string[]): string =>
  `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
