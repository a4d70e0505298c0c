/** A service without its sockets: the world that the core answers from, and what keeps it up to date. */
import { behindMs, overdueSessions } from "../../core/serve/freshness.ts";
import type { World } from "../../core/world.ts";
import { Turns } from "../../lib/turns.ts";
import { assets, fixedPages } from "../../pages/fixed-pages.ts";
import type { PageService } from "../../pages/page-frame.ts";
import { pagesOf } from "../../pages/pages.ts";
import { Archive } from "../../served/archive.ts";
import { LiveSnapshot, type LiveSnapshotOptions } from "../../served/live.ts";
import { LogReader } from "../../served/log-reader.ts";
import { pemOf, type VerifyKey } from "../../snapshot/signing-key.ts";
import type { StateAccounts } from "../../state/state-accounts.ts";
import { ProxyMetrics, type Observed } from "./metrics.ts";
import { observerOf } from "./observer.ts";
import { nodePlatform } from "../platform.ts";
import type { Logger } from "./request-log.ts";

export interface ServiceOptions
  extends
    Omit<LiveSnapshotOptions, "reader" | "onStreamFailure" | "platform">,
    PageService,
    Pick<Observed, "backlog" | "certificateEndMs"> {
  readonly log: Logger;
  readonly accounts: StateAccounts;
  /** One of these keys must have signed the log as far as it is served; null: nobody must. */
  readonly verifyKeys?: readonly VerifyKey[] | null;
  /** How many proxies of the operator are in front; their X-Forwarded-For is trusted. */
  readonly trustedHops: number;
}

export class NodeService {
  readonly #options: ServiceOptions;
  readonly #live: LiveSnapshot;
  readonly #parts: Pick<World, "live" | "log" | "archive" | "turns" | "platform">;
  readonly metrics: ProxyMetrics;

  constructor(options: ServiceOptions) {
    const { accounts, clock, log, store, verifyKeys = null } = options;
    const reader = new LogReader(store, accounts, verifyKeys);
    const onStreamFailure = (error: unknown): void =>
      log.error({ err: error }, "stored file cannot be sent");
    const platform = nodePlatform;
    const loading = { ...options, onStreamFailure, platform };
    const live = new LiveSnapshot({ ...loading, reader });
    const archive = new Archive(store, loading);
    const turns = new Turns(setImmediate);
    const ofServed = (read: typeof overdueSessions) => () =>
      live.current === null ? 0 : read(live.current.stamp, clock.now());
    this.#options = options;
    this.#live = live;
    this.#parts = { live, log: reader, archive, turns, platform };
    this.metrics = new ProxyMetrics({
      ...options,
      live,
      archive,
      turns,
      overdueSessions: ofServed(overdueSessions),
      behindMs: ofServed(behindMs),
      nowMs: () => clock.now(),
    });
  }

  /**
   * Loads the head (see LiveSnapshot.start), and follows the log until `close`. Returns a function that gives the world
   * of the service at an address, which is told where the options name no public one.
   */
  async start(): Promise<(url: string) => World> {
    const { clock, accounts, log, verifyKeys = null } = this.#options;
    const files = await fixedPages(nodePlatform, assets(), clock.now());
    await this.#live.start();
    return (url) => {
      const known = { ...this.#options, ...this.#parts };
      const origin = this.#options.publicUrl ?? url;
      const pages = pagesOf({ ...known, origin }, files);
      return {
        ...known,
        origin,
        logKeysPem: verifyKeys && pemOf(verifyKeys),
        accounts,
        pages,
        observer: observerOf(this.metrics, log),
      };
    };
  }

  /** Resolves when there is something to serve. */
  get loaded(): Promise<void> {
    return this.#live.loaded;
  }

  close(): void {
    this.#live.close();
  }
}
