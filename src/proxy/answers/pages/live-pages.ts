/**
 * The pages with figures of the free tier, the methodology with the limits in force, and the documents
 * with examples. Each is made once for a snapshot and a number of overdue sessions, not per request.
 */
import { madeOnce } from "../../../lib/caches.ts";
import { limitsOf, USUAL_LIMITS } from "../../../feed/finding.ts";
import { FILES } from "../../../store/paths.ts";
import { boardTable, coverageLine, sessionLine, type Board } from "../../../site/board.js";
import { filled, siteFile } from "../../../site/files.ts";
import { recordHtml, type ContractBody } from "../../../site/record.js";
import { escaped } from "../../../site/text.js";
import { KEYLESS } from "../../../market/tier.ts";
import type { Asked, Found, Outcome } from "../answer.ts";
import { noSession, withoutContract, type DataSources } from "../data.ts";
import type { Forms } from "../../serve/entity.ts";
import { cacheControl, overdueSessions } from "../../serve/freshness.ts";
import type { LoadedSnapshot } from "../../serve/load.ts";
import { idIn } from "../../routes.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { withNames } from "./answers.ts";
import { framed, pageForms, type PageSource } from "./pages.ts";
import { methodology, type Settings } from "./texts.ts";

export interface LivePagesOptions
  extends Pick<Settings, "graceMs">, Pick<DataSources, "live" | "pollMs"> {
  /** The address of the service, which commands name. */
  readonly origin: string;
  /** Pages and files with recorded answers in them. */
  readonly documents: readonly PageSource[];
}

/** The answers by address. All but those of contracts answer also while nothing is served. */
export function livePages({ live, pollMs, origin, documents, graceMs }: LivePagesOptions) {
  const pages = madeOnce<Forms>(PAGES_KEPT);
  const makers = new Map<string, Maker>();
  makers.set(PAGES.market.path, async (snapshot, overdue) =>
    marketPage(snapshot && (await payload<Board>(snapshot, FILES.board(KEYLESS.name), overdue))),
  );
  for (const { path } of [PAGES.methodology, PAGES.methodologyMarkdown]) {
    makers.set(path, async (snapshot) =>
      methodology(path, origin, {
        graceMs,
        limits: snapshot ? limitsOf(snapshot.options) : USUAL_LIMITS,
      }),
    );
  }
  for (const { body, ...document } of documents) {
    makers.set(document.path, async (snapshot) => ({
      ...document,
      body: withNames(body, snapshot?.free ?? []),
    }));
  }
  const answers = new Map<string, (asked: Asked) => Promise<Outcome>>();
  for (const [path, make] of makers) answers.set(path, (asked) => found(asked, path, make));
  return answers.set(PAGES.contract.path, contract);

  async function found({ nowMs }: Asked, name: string, make: Maker): Promise<Found> {
    const snapshot = live.current;
    const overdue = snapshot === null ? 0 : overdueSessions(snapshot.stamp, nowMs);
    const key = `${name} ${snapshot?.stamp.publication} ${overdue}`;
    const forms = await pages.forceFetch(key, {
      context: async () => pageForms(await make(snapshot, overdue), nowMs),
    });
    const fresh = snapshot === null ? NOTHING_YET : cacheControl("public", snapshot.stamp, nowMs);
    return { forms, cacheControl: fresh };
  }

  /** A contract's record in the free tier, or that it needs a key. Refuses what the API refuses without one. */
  async function contract(asked: Asked): Promise<Outcome> {
    const snapshot = live.current;
    if (snapshot === null) return noSession(live, pollMs);
    const id = idIn(asked.path, PAGES.contract.path);
    const path = FILES.contract(KEYLESS.name, id);
    if (snapshot.files.has(path)) {
      return found(asked, path, async (_, overdue) =>
        contractPage((await payload<ContractBody>(snapshot, path, overdue)) as ContractBody),
      );
    }
    // A relative address, so that the service works below a prefix.
    const refusal = await withoutContract(snapshot, KEYLESS, id, "../contracts/", []);
    const { code } = refusal;
    if (code !== "key_required" && code !== "not_on_board") return refusal;
    return found(asked, code, async () => lockedPage(code));
  }
}

/** More than there are: the free slice has few contracts. */
const PAGES_KEPT = 32;

type Maker = (snapshot: LoadedSnapshot | null, overdue: number) => Promise<PageSource>;

/** What is shown before the first publication must not outlast it. */
const NOTHING_YET = "no-cache";

/** A payload of a snapshot while `overdue` sessions are missing; null: the snapshot has none there. */
async function payload<T>(
  snapshot: LoadedSnapshot,
  path: string,
  overdue: number,
): Promise<T | null> {
  const file = snapshot.files.get(path);
  return file === undefined ? null : (JSON.parse(await file.text(overdue)) as T);
}

const NO_BOARD = {
  session: '<p class="session">Nothing is published yet.</p>',
  attribution: "",
  coverage: "The board appears here with the first session.",
  board: "",
  license: "",
};

/** The page with the free tier's board; null: nothing is published. */
const marketPage = (board: Board | null): PageSource =>
  framed({
    path: PAGES.market.path,
    title: "Memory and semiconductor prices",
    main: filled(siteFile("market.html"), board === null ? NO_BOARD : slotsOf(board)),
    script: "market.js",
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

/** The page with a contract's record in the free tier. */
const contractPage = (body: ContractBody): PageSource =>
  contractFrame(body.name, recordHtml(body, KEYLESS.delaySessions));

/** Why a page has no record. It names no contract, because the free tier may not know it. */
const WITHOUT_RECORD = {
  key_required: "This contract is not part of the free slice: it needs an API key.",
  not_on_board: "Without an API key this contract has no level so far.",
} as const;

/** The page of every contract whose record is not shown for this reason. */
const lockedPage = (reason: keyof typeof WITHOUT_RECORD): PageSource =>
  contractFrame("Contract", filled(siteFile("contract.html"), { reason: WITHOUT_RECORD[reason] }));

const contractFrame = (title: string, main: string): PageSource =>
  framed({ path: PAGES.contract.path, title, main, script: "contract.js" });
