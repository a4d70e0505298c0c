/**
 * The pages with figures of the free tier, the methodology with the limits in force, and the documents
 * with examples. Each is made once for a snapshot and a number of overdue sessions, not per request.
 */
import { madeOnce } from "../../lib/caches.ts";
import { limitsOf } from "../../feed/finding.ts";
import { FILES } from "../../store/paths.ts";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import type { Board } from "../../site/board.js";
import type { ContractBody } from "../../site/record.js";
import { TIERS } from "../../market/tier.ts";
import type { Reply } from "../answer.ts";
import { chain } from "../chain.ts";
import type { Coder } from "../coding.ts";
import { noSession, withoutContract } from "../data.ts";
import type { Exchange } from "../exchange.ts";
import type { Denial } from "../problems.ts";
import { overdueSessions, publicCacheControl } from "../snapshot/freshness.ts";
import type { LiveSnapshot } from "../snapshot/live.ts";
import type { LoadedSnapshot } from "../snapshot/load.ts";
import { idIn } from "../routes.ts";
import { PAGES } from "../uncounted-routes.ts";
import { contractPage, lockedPage } from "./contract.ts";
import { withNames } from "./example-names.ts";
import { marketPage } from "./market.ts";
import type { Settings } from "./slots.ts";
import { methodology } from "./texts.ts";
import { pageReply, preparePage, type PageSource, type PreparedPage } from "./pages.ts";

/** What these pages are made from. */
export interface LivePagesOptions extends Pick<Settings, "graceMs"> {
  readonly live: LiveSnapshot;
  readonly coder: Coder;
  /** The address of the service, which commands name. */
  readonly origin: Promise<string>;
  /** Pages and files with recorded answers in them. */
  readonly documents: readonly PageSource[];
  /** How often the proxy looks for a new publication; the retry-after while there is none. */
  readonly pollMs: number;
}

/** The answers of the pages with figures. */
export class LivePages {
  readonly #options: LivePagesOptions;
  readonly #pages = madeOnce<PreparedPage>(PAGES_KEPT);

  constructor(options: LivePagesOptions) {
    this.#options = options;
  }

  /** Address and answer of each page but those of contracts. They answer also while nothing is served. */
  get routes(): [path: string, (exchange: Exchange) => MaybePromise<Reply>][] {
    const { origin, documents, graceMs } = this.#options;
    const makers = new Map<string, Maker>();
    makers.set(PAGES.market.path, async (snapshot, overdue) =>
      marketPage(snapshot && (await payload<Board>(snapshot, FILES.board("free"), overdue))),
    );
    for (const { path } of [PAGES.methodology, PAGES.methodologyMarkdown]) {
      makers.set(path, async (snapshot) =>
        methodology(path, origin, { graceMs, limits: limitsOf(snapshot?.options ?? {}) }),
      );
    }
    for (const { body, ...document } of documents) {
      makers.set(document.path, async (snapshot) => ({
        ...document,
        body: withNames(await body, snapshot?.free ?? []),
      }));
    }
    return [...makers].map(([path, make]) => [
      path,
      (exchange) => this.#reply(exchange, path, make),
    ]);
  }

  /**
   * The page of a contract: its record in the free tier, or that it needs a key. Refuses what the API
   * refuses to a caller without a key.
   */
  contract(exchange: Exchange): MaybePromise<Reply | Denial> {
    const { live, pollMs } = this.#options;
    const snapshot = live.current;
    if (snapshot === null) return noSession(live, pollMs);
    const id = idIn(exchange.path, PAGES.contract.path);
    const path = FILES.contract(TIERS.free.name, id);
    if (snapshot.files.has(path)) {
      return this.#reply(exchange, path, async (_, overdue) =>
        contractPage((await payload<ContractBody>(snapshot, path, overdue)) as ContractBody),
      );
    }
    // A relative address, so that the service works below a prefix.
    const outcome = withoutContract(snapshot, TIERS.free, id, "../contracts/");
    return chain(outcome, (found): MaybePromise<Reply | Denial> => {
      const { code } = found;
      if (code !== "key_required" && code !== "not_on_board") return found;
      return this.#reply(exchange, code, async () => lockedPage(code));
    });
  }

  #reply({ request, nowMs }: Exchange, name: string, make: Maker): MaybePromise<Reply> {
    const { live, coder } = this.#options;
    const snapshot = live.current;
    const overdue = snapshot === null ? 0 : overdueSessions(snapshot.stamp, nowMs);
    const key = `${name} ${snapshot?.stamp.publication} ${overdue}`;
    const page = this.#pages.forceFetch(key, {
      context: async () => preparePage(await make(snapshot, overdue), nowMs, coder),
    });
    const fresh = snapshot === null ? NOTHING_YET : publicCacheControl(snapshot.stamp, nowMs);
    return chain(page, (prepared) => pageReply(prepared, request.headers, fresh));
  }
}

/** More than there are: the free slice has few contracts. */
const PAGES_KEPT = 32;

type Maker = (snapshot: LoadedSnapshot | null, overdue: number) => Promise<PageSource>;

/** What is shown before the first publication must not outlast it. */
const NOTHING_YET = "no-cache";

/** A payload of a snapshot while `overdue` sessions are missing; null: the snapshot has none there. */
export async function payload<T>(
  snapshot: LoadedSnapshot,
  path: string,
  overdue: number,
): Promise<T | null> {
  const file = snapshot.files.get(path);
  if (file === undefined) return null;
  const { body } = await file.answer(overdue, { headers: {} });
  if (typeof body === "string") return JSON.parse(Buffer.from(body, "latin1").toString()) as T;
  if (Buffer.isBuffer(body)) return JSON.parse(body.toString()) as T;
  return (await new Response(await body()).json()) as T;
}
