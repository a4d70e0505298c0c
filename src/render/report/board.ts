/** The board: every contract with its level, its changes, and its last 90 days as a sparkline. */
import { carryLimitDays } from "../../market/contract.ts";
import { formatMicros, type Decimal } from "../../market/decimal.ts";
import { dateOf } from "../../market/series.ts";
import { dateText, sessionUtc, type Session } from "../../market/session.ts";
import { basisOf, type BoardRecord } from "../../market/view.ts";
import { sparkline } from "../../site/chart.js";
import { scrolling, section, tableHtml, type TableColumn } from "../../site/html.js";
import { changeHtml, escaped, foreign } from "../../site/text.js";
import { contractHtml, usdText } from "./html.ts";

const SPARK_DAYS = 90;

/**
 * A table in board order, which the page's script can sort and filter. A cell's `data-value` is the
 * published number; a cell without a number has none.
 */
export function boardSection(
  records: readonly BoardRecord[],
  session: Session,
  maxCarryDays: number,
): string {
  const segments = [...new Set(records.map(({ contract }) => contract.segment))];
  const options = segments
    .map((segment) => `<option value="${escaped(segment)}">${escaped(segment)}</option>`)
    .join("");
  return section(
    "board",
    "Board",
    `<div id="controls" hidden>
<label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"></label>
<label>Segment <select id="segment"><option value="">all</option>${options}</select></label>
<output id="shown" aria-live="polite"></output>
</div>
${scrolling(
  "Board",
  tableHtml(
    ' id="contracts"',
    [
      ...COLUMNS,
      { label: `${SPARK_DAYS} days`, html: (record) => spark(record, session, maxCarryDays) },
    ],
    records,
    ({ carried, contract }) =>
      ` data-segment="${escaped(contract.segment)}"${carried ? ' class="carried"' : ""}`,
  ),
)}
<p class="note">Levels in US dollars per the contract's unit; changes in percent. A sparkline spans its own range, is broken where levels are not comparable, and holds each level until the next one.</p>`,
  );
}

const COLUMNS: readonly TableColumn<BoardRecord>[] = [
  { label: "Contract", field: "name", html: ({ contract }) => contractHtml(contract) },
  { label: "Segment", field: "segment", html: ({ contract }) => foreign(contract.segment) },
  {
    label: "Level USD",
    field: "level",
    value: ({ level }) => formatMicros(level.usd),
    html: ({ level }) => usdText(level.usd),
  },
  changeColumn("24 h %", "24h"),
  changeColumn("30 d %", "30d"),
  changeColumn("1 year %", "1y"),
  { label: "Basis", field: "basis", html: basisOf },
  { label: "As of", field: "as_of", html: ({ level }) => dateText(dateOf(level)) },
];

function changeColumn(label: string, field: "24h" | "30d" | "1y"): TableColumn<BoardRecord> {
  const value = ({ changePct }: BoardRecord): Decimal | null => changePct[field];
  return { label, field, value, html: (record) => changeHtml(value(record)) };
}

/** The levels of the last 90 days as a picture without text: the columns have the numbers. */
function spark({ series, contract }: BoardRecord, session: Session, maxCarryDays: number): string {
  // The level in force 90 days ago may be older.
  const levels = series.closes(session, Number.NEGATIVE_INFINITY).map((close) => ({
    date: dateText(close.date),
    session: sessionUtc(close.level.session),
    close: Number(formatMicros(close.level.usd)),
    isBreak: close.breakReason !== null,
  }));
  const carryDays = carryLimitDays(contract, maxCarryDays);
  return sparkline({ levels, carryDays, to: sessionUtc(session) });
}
