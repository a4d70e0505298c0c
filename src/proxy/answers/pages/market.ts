/** The market page, `/`: the free board, which is there without script. */
import { boardTable, coverageLine, sessionLine, type Board } from "../../../site/board.js";
import { filled, siteFile } from "../../../site/files.ts";
import { escaped } from "../../../site/text.js";
import { PAGES } from "../../uncounted-routes.ts";
import { framed } from "./frame.ts";
import type { PageSource } from "./pages.ts";

const TITLE = "Memory and semiconductor prices";
const SCRIPT = "market.js";

const NOTHING_YET = {
  session: '<p class="session">Nothing is published yet.</p>',
  attribution: "",
  coverage: "The board appears here with the first session.",
  board: "",
  license: "",
};

/** The page with the free tier's board; null: nothing is published. */
export const marketPage = (board: Board | null): PageSource =>
  framed({
    path: PAGES.market.path,
    title: TITLE,
    main: filled(siteFile("market.html"), board === null ? NOTHING_YET : slotsOf(board)),
    script: SCRIPT,
  });

function slotsOf(board: Board): Record<string, string> {
  const isEmpty = board.memory.length + board.semiconductor.length === 0;
  return {
    session: sessionLine(board),
    attribution: escaped(board.attribution),
    coverage: `${coverageLine(board)} A key shows the whole market: see <a href="plans">plans</a>.`,
    board: isEmpty ? "" : boardTable(board, false),
    license: escaped(board.license),
  };
}
