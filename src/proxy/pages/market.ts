/** The market page, `/`: the free board, which is there without script. */
import { TIERS } from "../../market/tier.ts";
import { boardTable, sessionLine, type Board } from "../../site/board.js";
import { filled, siteFile } from "../../site/files.ts";
import { counted } from "../../site/text.js";
import { MARKET_PATH } from "../routes.ts";
import { framed } from "./frame.ts";
import type { PageSource } from "./pages.ts";

const TITLE = "Memory and semiconductor prices";
const SCRIPT = "market.js";

/** The page with the free tier's board; null: nothing is published. */
export function marketPage(board: Board | null): PageSource {
  const slots =
    board === null
      ? { session: "<p>Nothing is published yet.</p>", coverage: "", board: "" }
      : {
          session: sessionLine(board, TIERS.free.delaySessions),
          coverage: `${counted(board.memory.length + board.semiconductor.length, "contract")} without a key; the whole market with one: see <a href="plans">plans</a>.`,
          board: boardTable(board, null),
        };
  return framed({
    path: MARKET_PATH,
    title: TITLE,
    main: filled(siteFile("market.html"), slots),
    script: SCRIPT,
    ...(board !== null && { attribution: board.attribution }),
  });
}
