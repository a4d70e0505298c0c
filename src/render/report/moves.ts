/** The contracts with the largest changes. */
import { counted } from "../../lib/text.ts";
import type { Decimal } from "../../market/decimal.ts";
import type { BoardRecord } from "../../market/view.ts";
import { byLargestChange } from "../../market/change.ts";
import { changeHtml, foreign } from "../../site/text.js";
import { idHtml, section, table, usdText } from "./html.ts";

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
  const title = `<h3>Over ${horizon}</h3>`;
  if (moves.length === 0) return `<div>${title}<p>None.</p></div>`;
  const rows = moves.map(({ item: { contract, level }, change }) => [
    idHtml(contract.id),
    foreign(contract.segment),
    usdText(level.usd),
    changeHtml(change),
  ]);
  const headings = { Contract: "", Segment: "wide", "Level USD": "n", "Change %": "n" } as const;
  return `<div>${title}\n${table(`${counted(moves.length, "move")} over ${horizon}`, headings, rows)}</div>`;
}
