/** The top of the report: the figures and the gates. */
import { counted } from "../../lib/text.ts";
import type { Composite } from "../../market/composite.ts";
import { coverageOf } from "../../market/coverage.ts";
import { formatMicros, type Decimal } from "../../market/decimal.ts";
import type { Session } from "../../market/session.ts";
import { countsOf, recordsOf, type Market, type TierView } from "../../market/view.ts";
import { carriedLevels, largestMove, standstill, type ReportGates } from "./gates.ts";
import { changeHtml, foreign, grouped, signedText } from "../../site/text.js";
import { daysText, idHtml, section, table, usdText } from "./html.ts";

/** The numbers at the top. They are the manifest's counts. */
export function figures(view: TierView, index: Composite): string {
  const counts = countsOf(view);
  const shown: readonly [string, number][] = [
    ["Contracts", counts.contracts],
    ["Memory", counts.memory],
    ["Semiconductor", counts.semiconductor],
    ["Given", counts.given],
    ["Carried", counts.carried],
    ["Dropped", counts.dropped],
    ["Delisted", counts.delisted],
    ["No level so far", counts.withoutLevel],
  ];
  return `<dl class="figures">
<div class="headline"><dt>Composite index</dt><dd>${index.level === null ? "n/a" : grouped(index.level)}</dd>
<dd class="sub">24 h ${percentHtml(index.chg24hPct)}, 30 d ${percentHtml(index.chg30dPct)}</dd></div>
${shown.map(([name, count]) => `<div><dt>${name}</dt><dd>${count}</dd></div>`).join("\n")}
</dl>`;
}

/** Each gate with the measured value, the limit, and the difference. */
export function gatesSection(market: Market, view: TierView, gates: ReportGates): string {
  const records = recordsOf(view);
  const rows = [
    coverageRow(market, view.session, gates),
    moveRow(largestMove(market, records, gates), gates),
    standstillRow(standstill(market, records, view.session, gates), gates),
    carryRow(market, view),
  ];
  const headings = { Gate: "", Measured: "", Limit: "n", "To spare": "n" } as const;
  return section("gates", "Gates", table("Gates", headings, rows));
}

function coverageRow(
  { catalog, seriesOf }: Market,
  session: Session,
  gates: ReportGates,
): string[] {
  const { minCoverageMicros } = gates;
  const { pct, within, marginPct, covered, contracts } = coverageOf(
    catalog,
    seriesOf,
    session,
    minCoverageMicros,
  );
  return [
    `Coverage<br>${verdict(within)}`,
    `${grouped(pct)} %<br><small>${covered} of ${counted(contracts, "contract")} covered</small>`,
    limitText("\u{2265}", formatMicros(minCoverageMicros), "%"),
    pointsText(marginPct),
  ];
}

function moveRow(move: ReturnType<typeof largestMove>, gates: ReportGates): string[] {
  const limit = limitText("\u{2264}", formatMicros(gates.maxMoveMicros), "%");
  const none = "no level with a comparable one before it";
  if (move === null) return [`Largest move<br>${verdict(true)}`, none, limit, ""];
  const { contract, before, now, pct, within, marginPct } = move;
  return [
    `Largest move<br>${verdict(within)}`,
    `${signedText(pct)} %<br><small>${idHtml(contract.id)} ${foreign(contract.name)}, ` +
      `${usdText(before)} to ${usdText(now)}</small>`,
    limit,
    pointsText(marginPct),
  ];
}

function standstillRow(measured: ReturnType<typeof standstill>, gates: ReportGates): string[] {
  if (measured === null) {
    const limit = limitText("\u{2264}", String(gates.maxUnchangedSessions), "sessions");
    return [`Since a level moved<br>${verdict(true)}`, "no level for the session", limit, ""];
  }
  const { sessions, limitSessions } = measured;
  return [
    `Since a level moved<br>${verdict(sessions <= limitSessions)}`,
    counted(sessions, "session"),
    limitText("\u{2264}", String(limitSessions), "sessions"),
    String(limitSessions - sessions),
  ];
}

function carryRow(market: Market, view: TierView): string[] {
  const next = carriedLevels(market, recordsOf(view), view.session)[0];
  if (next === undefined) {
    const limit = limitText("\u{2264}", String(market.maxCarryDays), "d");
    return ["Age of carried levels", "none is carried", limit, ""];
  }
  const { record, ageSessions, limitSessions } = next;
  return [
    `Age of carried levels<br>${verdict(true)}`,
    `${daysText(ageSessions)} d<br><small>${idHtml(record.contract.id)} ${foreign(record.contract.name)} drops first</small>`,
    limitText("\u{2264}", daysText(limitSessions), "d"),
    `${daysText(limitSessions - ageSessions)} d`,
  ];
}

const verdict = (within: boolean): string =>
  within ? '<span class="tag passed">passed</span>' : '<span class="tag over">let through</span>';

/** `≤ 50 %`, kept on one line. */
const limitText = (sign: string, limit: string, unit: string): string =>
  `${sign}\u{A0}${limit}\u{A0}${unit}`;

const pointsText = (points: Decimal): string =>
  `${points.startsWith("-") ? signedText(points) : grouped(points)} points`;

const percentHtml = (change: Decimal | null): string =>
  change === null ? "n/a" : `${changeHtml(change)} %`;
