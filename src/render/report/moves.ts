/** The contracts with the largest changes. */
import { counted } from "../../lib/text.ts";
import type { Decimal } from "../../market/decimal.ts";
import type { BoardRecord } from "../../market/view.ts";
import { byLargestChange } from "../../market/change.ts";
import { changeHtml, foreign } from "../../site/text.js";
import { scrolling, section, tableHtml, type TableColumn } from "../../site/html.js";
import { contractHtml, usdText } from "./html.ts";

const MOVES_SHOWN = 8;

/** The contracts with the largest changes, up or down, over 24 hours and over 30 days. */
export const movesSection = (records: readonly BoardRecord[]): string =>
  section(
    "moves",
    "Largest moves",
    `<div class="pair">\n${movesOver("24 hours", records, ({ changePct }) => changePct["24h"])}\n` +
      `${movesOver("30 days", records, ({ changePct }) => changePct["30d"])}\n</div>`,
  );

function movesOver(
  horizon: string,
  records: readonly BoardRecord[],
  changeOf: (record: BoardRecord) => Decimal | null,
): string {
  const moves = byLargestChange(records, changeOf).slice(0, MOVES_SHOWN);
  const table = scrolling(
    `${counted(moves.length, "move")} over ${horizon}`,
    tableHtml("", COLUMNS, moves),
  );
  return `<div><h3>Over ${horizon}</h3>\n${moves.length === 0 ? "<p>None.</p>" : table}</div>`;
}

const COLUMNS: readonly TableColumn<{ item: BoardRecord; change: Decimal }>[] = [
  { label: "Contract", html: ({ item }) => contractHtml(item.contract) },
  { label: "Segment", name: "wide", html: ({ item }) => foreign(item.contract.segment) },
  { label: "Level USD", name: "n", html: ({ item }) => usdText(item.level.usd) },
  { label: "Change %", name: "n", html: ({ change }) => changeHtml(change) },
];
