/**
 * The pages with figures of the free tier, the methodology with the limits in force, and the documents
 * with examples. Each is made once for a snapshot and a number of overdue sessions, not per request.
 */
import { madeOnce } from "../../../lib/caches.ts";
import { limitsOf, USUAL_LIMITS } from "../../../feed/finding.ts";
import { FILES } from "../../../store/paths.ts";
import type { Board } from "../../../site/board.js";
import type { ContractBody } from "../../../site/record.js";
import { KEYLESS } from "../../../market/tier.ts";
import type { Asked, Found, Outcome } from "../answer.ts";
import type { Coder } from "../../serve/coding.ts";
import { noSession, withoutContract } from "../data.ts";
import type { Entity, Forms } from "../../serve/entity.ts";
import { cacheControl, overdueSessions } from "../../serve/freshness.ts";
import type { LiveSnapshot } from "../../serve/live.ts";
import type { LoadedSnapshot } from "../../serve/load.ts";
import { idIn } from "../../routes.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { contractPage, lockedPage } from "./contract.ts";
import { withNames } from "./example-names.ts";
import { marketPage } from "./market.ts";
import type { Settings } from "./slots.ts";
import { methodology } from "./texts.ts";
import { pageForms, type PageSource } from "./pages.ts";

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
  readonly #pages = madeOnce<Forms>(PAGES_KEPT);

  constructor(options: LivePagesOptions) {
    this.#options = options;
  }

  /** Address and answer of each page but those of contracts. They answer also while nothing is served. */
  get routes(): [path: string, (asked: Asked) => Promise<Found>][] {
    const { origin, documents, graceMs } = this.#options;
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
        body: withNames(await body, snapshot?.free ?? []),
      }));
    }
    return [...makers].map(([path, make]) => [path, (asked) => this.#found(asked, path, make)]);
  }

  /**
   * The page of a contract: its record in the free tier, or that it needs a key. Refuses what the API
   * refuses to a caller without a key.
   */
  async contract(asked: Asked): Promise<Outcome> {
    const { live, pollMs } = this.#options;
    const snapshot = live.current;
    if (snapshot === null) return noSession(live, pollMs);
    const id = idIn(asked.path, PAGES.contract.path);
    const path = FILES.contract(KEYLESS.name, id);
    if (snapshot.files.has(path)) {
      return this.#found(asked, path, async (_, overdue) =>
        contractPage((await payload<ContractBody>(snapshot, path, overdue)) as ContractBody),
      );
    }
    // A relative address, so that the service works below a prefix.
    const found = await withoutContract(snapshot, KEYLESS, id, "../contracts/");
    const { code } = found;
    if (code !== "key_required" && code !== "not_on_board") return found;
    return this.#found(asked, code, async () => lockedPage(code));
  }

  async #found({ nowMs }: Asked, name: string, make: Maker): Promise<Found> {
    const { live, coder } = this.#options;
    const snapshot = live.current;
    const overdue = snapshot === null ? 0 : overdueSessions(snapshot.stamp, nowMs);
    const key = `${name} ${snapshot?.stamp.publication} ${overdue}`;
    const forms = await this.#pages.forceFetch(key, {
      context: async () => pageForms(await make(snapshot, overdue), nowMs, coder),
    });
    const fresh = snapshot === null ? NOTHING_YET : cacheControl("public", snapshot.stamp, nowMs);
    return { forms, cacheControl: fresh };
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
  const { body } = (await file.forms(overdue)).get("identity") as Entity;
  const stream = typeof body === "function" ? await body() : new Blob([body as Buffer]);
  return (await new Response(stream).json()) as T;
}
