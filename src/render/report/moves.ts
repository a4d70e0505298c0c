/** The moves: one row for each segment, and the contracts with the largest changes. */
import { counted } from "../../lib/text.ts";
import { ratio, roundRatio, type Decimal } from "../../market/decimal.ts";
import type { BoardRecord } from "../../market/view.ts";
import { byLargestChange, CHANGE_DECIMALS } from "../../market/change.ts";
import { changeHtml, direction, foreign } from "../../site/text.js";
import { idHtml, section, table, usdText } from "./html.ts";

const MOVES_SHOWN = 8;

/** Segments in board order, each with the medians of its contracts' changes. */
export function segmentsSection(records: readonly BoardRecord[]): string {
  const segments = Map.groupBy(records, ({ contract }) =>
    JSON.stringify([contract.board, contract.segment]),
  );
  const rows = [...segments.values()].map((members) => {
    const { board, segment } = (members[0] as BoardRecord).contract;
    const counts = { up: 0, down: 0, flat: 0 };
    for (const { changePct } of members) {
      if (changePct["24h"] !== null) counts[direction(changePct["24h"])] += 1;
    }
    return [
      foreign(segment),
      board,
      `${members.length}`,
      `${members.filter(({ carried }) => carried).length}`,
      medianHtml(members.map(({ changePct }) => changePct["24h"])),
      medianHtml(members.map(({ changePct }) => changePct["30d"])),
      medianHtml(members.map(({ changePct }) => changePct.yoy)),
      `${counts.up}`,
      `${counts.down}`,
    ];
  });
  const headings = {
    Segment: "",
    Board: "wide",
    Contracts: "n",
    Carried: "n wide",
    "24 h %": "n",
    "30 d %": "n",
    "1 year %": "n",
    Up: "n wide",
    Down: "n wide",
  } as const;
  return section(
    "segments",
    "Segments",
    '<p>Changes are medians over the segment\'s contracts.<span class="wide-text"> Up and down count those over 24 hours.</span></p>\n' +
      table("Segments", headings, rows),
  );
}

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

/** The exact median of changes with two decimals. Of an even number, it is the mean of the middle two. */
function medianHtml(changes: readonly (Decimal | null)[]): string {
  const sorted = changes
    .flatMap((change) => (change === null ? [] : [hundredths(change)]))
    .sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  if (upper === undefined || lower === undefined) return changeHtml(null);
  return changeHtml(roundRatio(ratio(BigInt(lower) + BigInt(upper), 200n), CHANGE_DECIMALS));
}

/** A change times 100. It has two decimals, so this is a whole number, far below 2⁵³. */
const hundredths = (change: Decimal): number => Math.round(Number(change) * 100);
