/** The service in a Worker: the world that the core answers from, over R2 and Durable Objects. */
import type { H3 } from "h3";
import type { Found } from "../../core/outcome.ts";
import type { World } from "../../core/world.ts";
import { reasonOf } from "../../lib/errors.ts";
import { cacheOf, getOrMake } from "../../lib/caches.ts";
import type { Clock } from "../../lib/clock.ts";
import { NO_QUEUE } from "../../lib/turns.ts";
import { assets, fixedPage } from "../../pages/fixed-pages.ts";
import type { PageService } from "../../pages/page-frame.ts";
import { pagesOf } from "../../pages/pages.ts";
import type { Observer } from "../../ports/observer.ts";
import { Archive } from "../../served/archive.ts";
import { LiveSnapshot } from "../../served/live.ts";
import { LogReader } from "../../served/log-reader.ts";
import { pemOf, type VerifyKey } from "../../snapshot/signing-key.ts";
import type { ObjectStore } from "../../ports/store.ts";
import { doorOf, fetchHost, type Sender } from "../door.ts";
import { nodePlatform } from "../platform.ts";
import type { EdgeAccounts, GoOn } from "./edge-accounts.ts";
import { EdgeHead } from "./edge-head.ts";

const MEGABYTE = 1_000_000;
/** An isolate has 128 MB for all. The archive, which also holds the live snapshot's files, takes an eighth of this. */
const CACHE_BYTES = 256 * MEGABYTE;

/**
 * So long a request waits for registry and log: of an isolate that has answered before, and of one that knows nothing yet. If
 * bucket or objects hang, the isolate then answers by itself, as on a machine, where requests never wait for them.
 */
const REFRESH_MS = 5_000;
const FIRST_MS = 30_000;

/** More than there are. */
const ASSETS_KEPT = 500;

interface EdgeOptions extends PageService {
  readonly store: ObjectStore;
  readonly accounts: EdgeAccounts;
  readonly clock: Clock;
  /** The address of the service, where the options name no public one. */
  readonly origin: string;
  readonly pollMs: number;
  readonly graceMs: number;
  readonly verifyKeys: readonly VerifyKey[] | null;
  readonly goOn: GoOn;
}

export interface EdgeHost {
  readonly world: World;
  readonly app: H3;
  /** Call it before each request. It never rejects, and takes a few seconds at most. */
  refresh(): Promise<void>;
}

const lineOf = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
  const { err, ...others } = fields;
  const failure =
    err === undefined ? {} : { err: err instanceof Error ? err.stack : reasonOf(err) };
  console.log(JSON.stringify({ level, msg: message, ...others, ...failure }));
};

/** The log of the platform has a line for each event. It counts and shows requests itself. */
const LOG = { error: lineOf("error"), warn: lineOf("warn"), info: lineOf("info") };
const OBSERVER: Observer = {
  answered: () => {},
  failed: (err, route, requestId, what) => LOG.error({ err, route, request_id: requestId }, what),
};

/** Work takes no turns: the platform shares its processors among requests. */
const NO_TURNS: World["turns"] = {
  placeOf: () => NO_QUEUE,
  later: () => new Promise((resolve) => setTimeout(resolve, 0)),
};

/** Makes the host of an isolate. */
export function edgeHost(options: EdgeOptions): EdgeHost {
  const { store, accounts, clock, pollMs, graceMs, verifyKeys, goOn } = options;
  const platform = nodePlatform;
  const onStreamFailure = (error: unknown): void =>
    LOG.error({ err: error }, "stored file cannot be sent");
  const loading = { cacheBytes: CACHE_BYTES, onStreamFailure, platform };
  const archive = new Archive(store, loading);
  const live = new EdgeHead(() => {
    const reader = new LogReader(store, accounts, verifyKeys);
    const following = { ...loading, store, reader, clock, log: LOG, pollMs, graceMs };
    return { reader, live: new LiveSnapshot({ ...following, shelf: archive }) };
  }, pollMs);
  const known = { ...options, live, log: live, archive, platform, turns: NO_TURNS };
  const startedMs = clock.now();
  // Compressed when somebody asks for it: most isolates answer few requests.
  const made = cacheOf<Found>(ASSETS_KEPT);
  const files = new Map(
    assets().map((source) => [
      source.path,
      () => getOrMake(made, source.path, NO_QUEUE, () => fixedPage(platform, source, startedMs)),
    ]),
  );
  const world: World = {
    ...known,
    observer: OBSERVER,
    trustedHops: 0,
    logKeysPem: verifyKeys && pemOf(verifyKeys),
    pages: pagesOf(known, files),
  };
  return {
    world,
    app: doorOf(world, fetchHost(senderOf)),
    refresh: async () => {
      const refreshing = accounts.refresh().then(() => live.refresh());
      goOn(refreshing);
      const patience = Promise.withResolvers<void>();
      const isFirst = !accounts.isOpen || live.current === null;
      const timer = setTimeout(patience.resolve, isFirst ? FIRST_MS : REFRESH_MS);
      await Promise.race([refreshing, patience.promise]);
      clearTimeout(timer);
    },
  };
}

/** What the platform says of the client. */
function senderOf(request: Request): Sender {
  const { cf } = request as { readonly cf?: { readonly clientAcceptEncoding?: string } };
  return {
    peer: request.headers.get("cf-connecting-ip") ?? undefined,
    codings: cf?.clientAcceptEncoding === undefined ? undefined : cf.clientAcceptEncoding || null,
  };
}
