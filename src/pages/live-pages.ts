/**
 * The pages with figures of the free tier, and the documents, whose slots the served snapshot fills. Each is
 * made once for a snapshot and a number of overdue sessions, not per request.
 */
import { limitsOf } from "../feed/finding.ts";
import { cacheOf, getOrMake } from "../lib/caches.ts";
import { NO_QUEUE, type Place } from "../lib/turns.ts";
import { FILES } from "../store/paths.ts";
import type { Board } from "../site/board.js";
import type { ContractBody } from "../site/record.js";
import type { Contract } from "../market/contract.ts";
import { KEYLESS } from "../market/tier.ts";
import type { Asked, Found, Outcome } from "../core/outcome.ts";
import { USUAL_TERMS } from "./plan-terms.ts";
import { noSession, resolveContract } from "../core/find/data.ts";
import { knownContracts } from "../core/find/known-ids.ts";
import type { Forms } from "../core/serve/entity.ts";
import { cacheControl, overdueSessions } from "../core/serve/freshness.ts";
import type { LiveSnapshot, World } from "../core/world.ts";
import { BUSY, deny, isDenial, notInSnapshot, type Denial } from "../public/problems.ts";
import type { Query } from "../public/query.ts";
import { idIn } from "../public/routes.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import { comparePage } from "./compare-page.ts";
import { verifyPage } from "./verify-page.ts";
import { contractPage, lockedPage, type Surroundings } from "./contract-page.ts";
import { sitemap } from "./crawlers.ts";
import {
  documentPages,
  exampleIds,
  filledDocument,
  slotValues,
  type Settings,
} from "./document-pages.ts";
import { basketPage, indicesPage } from "./index-pages.ts";
import { emptyMarketPage, marketPage } from "./market-page.ts";
import { pageForms, type PageSource } from "../core/serve/document.ts";
import { asSent } from "./page-frame.ts";
import { plansPage } from "./plans-page.ts";

export interface LivePagesOptions extends Settings, Pick<World, "live" | "pollMs" | "platform"> {
  /** The keys that vouch for the log; null: nobody does. */
  readonly verifyKeys?: readonly unknown[] | null | undefined;
}

/** The answers by address. All pages except contract pages answer also while nothing is served. */
export function livePages(options: LivePagesOptions) {
  const { live, pollMs, platform, origin, plans = USUAL_TERMS } = options;
  const isSigned = (options.verifyKeys ?? null) !== null;
  const pages = cacheOf<Forms>(PAGES_KEPT);
  // Kept apart, so that requests for many contracts do not displace the other pages.
  const contractPages = cacheOf<Forms>(PAGES_KEPT);
  const makers = new Map<string, Maker>();
  makers.set(PAGES.market.path, async (snapshot, overdue) => {
    const board = snapshot && (await freeBoard(snapshot, overdue));
    if (snapshot === null || board === null) return emptyMarketPage();
    const catalog = await snapshot.catalog(NO_QUEUE);
    // Only what waits in a queue is refused.
    if (isDenial(catalog)) throw new Error(catalog.code);
    const { head } = snapshot.stamp;
    const maxCarryDays = maxCarryDaysOf(snapshot);
    return marketPage({ board, catalog, maxCarryDays, head, terms: plans, isSigned, origin });
  });
  makers.set(PAGES.compare.path, async (snapshot) =>
    comparePage(plans, (await catalogOf(snapshot)) ?? [], maxCarryDaysOf(snapshot)),
  );
  makers.set(PAGES.plans.path, async (snapshot) => plansPage(plans, snapshot?.tiers));
  makers.set(PAGES.verify.path, async () => verifyPage());
  makers.set(PAGES.sitemap.path, async (snapshot) =>
    sitemap(origin, (await catalogOf(snapshot)) ?? []),
  );
  makers.set(PAGES.indices.path, async (snapshot) => indicesPage(await catalogOf(snapshot), false));
  makers.set(PAGES.basket.path, async (snapshot, overdue) => {
    const board = snapshot && (await freeBoard(snapshot, overdue));
    return basketPage(plans, slotValues(options, snapshot, board), {
      catalog: (await catalogOf(snapshot)) ?? [],
      maxCarryDays: maxCarryDaysOf(snapshot),
      board,
      exampleIds: exampleIds(snapshot),
    });
  });
  for (const document of documentPages()) {
    makers.set(document.path, async (snapshot, overdue) => {
      const board = snapshot && (await freeBoard(snapshot, overdue));
      return filledDocument(document, slotValues(options, snapshot, board));
    });
  }
  const pastIndices: Maker = async (snapshot) => indicesPage(await catalogOf(snapshot), true);
  /** What pages answer whose address names another moment; others ignore it. */
  const past = new Map<string, (asked: Asked, place: Place) => Promise<Outcome>>([
    [PAGES.indices.path, (asked, place) => found(asked, place, "past indices", pastIndices, pages)],
  ]);
  for (const { path } of [PAGES.market, PAGES.compare, PAGES.basket])
    past.set(path, async () => PRESENT_ALONE);
  const answers = new Map<string, (asked: Asked, place: Place) => Promise<Outcome>>();
  for (const [path, make] of makers) {
    answers.set(path, async (asked, place) => {
      const answer = namesMoment(asked.query) ? past.get(path) : undefined;
      return answer === undefined ? found(asked, place, path, make, pages) : answer(asked, place);
    });
  }
  return answers.set(PAGES.contract.path, contract);

  async function found(
    { nowMs }: Asked,
    place: Place,
    name: string,
    make: Maker,
    kept: typeof pages,
  ): Promise<Found | Denial> {
    const snapshot = live.current;
    const overdue = snapshot === null ? 0 : overdueSessions(snapshot.stamp, nowMs);
    const key = `${name} ${snapshot?.stamp.publication} ${overdue}`;
    // Other pages are few, and those who wait for one share it.
    if (kept === contractPages && !kept.has(key) && !place.enter()) return BUSY;
    const forms = await getOrMake(kept, key, place, async () => {
      const source = await make(snapshot, overdue);
      return pageForms(platform, asSent(source, options, snapshot?.attribution), nowMs);
    });
    const fresh = snapshot === null ? NOTHING_YET : cacheControl("public", snapshot.stamp, nowMs);
    return { kind: "found", forms, cacheControl: fresh };
  }

  /** A contract's page. Refuses what the API refuses without a key, but for contracts that need one. */
  async function contract(asked: Asked, place: Place): Promise<Outcome> {
    const snapshot = live.current;
    if (snapshot === null) return noSession(live, pollMs);
    const id = idIn(asked.path, PAGES.contract.path);
    const path = FILES.contract(KEYLESS.name, id);
    const contracts = await knownContracts(snapshot, snapshot, NO_QUEUE);
    if (isDenial(contracts)) return contracts;
    const { catalog } = contracts;
    const counts = await snapshot.closes(NO_QUEUE);
    if (isDenial(counts)) return counts;
    const around = async (overdue: number): Promise<Surroundings> => ({
      catalog,
      head: snapshot.stamp.head,
      board: await freeBoard(snapshot, overdue),
      terms: plans,
      closes: counts.get(id),
      origin,
    });
    if (namesMoment(asked.query) && contracts.find(id) !== undefined) {
      const past: Maker = async (_, overdue) =>
        lockedPage("past", contracts.find(id) as Contract, {
          ...(await around(overdue)),
          board: null,
        });
      return found(asked, place, `past ${id}`, past, contractPages);
    }
    if (snapshot.files.has(path)) {
      const make: Maker = async (_, overdue) => {
        const body = (await payload(snapshot, path, overdue)) as ContractBody;
        return contractPage(body, await around(overdue));
      };
      return found(asked, place, path, make, contractPages);
    }
    // A relative address, so that the service works below a prefix.
    const refusal =
      resolveContract(snapshot, KEYLESS, id, "../contracts/", [], contracts) ??
      notInSnapshot(snapshot.stamp.text);
    const { code } = refusal;
    if (code !== "key_required" && code !== "not_on_board") return refusal;
    const known = contracts.find(id) as Contract;
    const make: Maker = async (_, overdue) => lockedPage(code, known, await around(overdue));
    return found(asked, place, `${code} ${id}`, make, contractPages);
  }
}

/** These pages would show figures of now below an address that names another moment. */
const PRESENT_ALONE = deny(
  "invalid_parameter",
  "This page shows the newest prices alone. With a key of the tier pro, /indices and the page of each contract show the prices known at another moment.",
);

/** Whether an address asks for a page as of another moment. */
const namesMoment = (query: Query): boolean =>
  query.some(([name, value]) => (name === "as_of" || name === "publication") && value !== "");

/** All pages before and after a change; of contracts the free slice, and some that need a key. */
const PAGES_KEPT = 64;

type Maker = (snapshot: LiveSnapshot | null, overdue: number) => Promise<PageSource>;

/** A page from before the first publication must not outlast it. */
const NOTHING_YET = "no-cache";

/** A payload of a snapshot while `overdue` sessions are missing; null: the snapshot has none there. */
async function payload(snapshot: LiveSnapshot, path: string, overdue: number): Promise<unknown> {
  const file = snapshot.files.get(path);
  return file === undefined ? null : JSON.parse(await file.text(overdue, NO_QUEUE));
}

/** The catalog, which is public; null: nothing is published, or it cannot be read now. */
async function catalogOf(snapshot: LiveSnapshot | null): Promise<readonly Contract[] | null> {
  const catalog = await snapshot?.catalog(NO_QUEUE);
  return catalog === undefined || isDenial(catalog) ? null : catalog;
}

/** The carry limit of the publication; 0: nothing is published. */
const maxCarryDaysOf = (snapshot: LiveSnapshot | null): number =>
  snapshot === null ? 0 : limitsOf(snapshot.options).maxCarryDays;

const freeBoard = async (snapshot: LiveSnapshot, overdue: number): Promise<Board | null> =>
  (await payload(snapshot, FILES.board(KEYLESS.name), overdue)) as Board | null;
