/** Which address answers with what: the routes of the interface's tables, each with its handler, and the pages. */
import type { Place } from "../lib/turns.ts";
import { faultsDenial, nameFaults } from "../public/query.ts";
import {
  DATA_ROUTES,
  isExact,
  LINK_PATH,
  prefixOf,
  SUMS_ROUTE,
  takesId,
} from "../public/routes.ts";
import { UNCOUNTED_ROUTES } from "../public/uncounted-routes.ts";
import type { AdmittedCaller } from "./caller.ts";
import { contractList } from "./find/contract-list.ts";
import { dataAnswers } from "./find/data.ts";
import { targetOf, type LinkTarget } from "./find/link-target.ts";
import { readiness } from "./find/readiness.ts";
import { jsonDocument, type Asked, type Outcome } from "./outcome.ts";
import { logKeys, publicLog } from "./publications/public-log.ts";
import { usageReply } from "./quota.ts";
import type { World } from "./world.ts";

type Handled = Outcome | Promise<Outcome>;

/** An address: whose answers it gives, whether one costs a call, and how to find it. */
export type Address = {
  /** `{id}` stands for one segment. */
  readonly path: string;
} & (
  | {
      /** The answer needs no key, and never waits for the state. */
      readonly reader: "everybody";
      readonly find: (asked: Asked, place: Place) => Handled;
    }
  | {
      /** A link names its reader by itself. */
      readonly reader: "caller" | "link";
      readonly isCounted: boolean;
      /** All refusals that need neither the body nor a count are decided here. */
      readonly find: (asked: Asked, reader: AdmittedCaller, place: Place) => Handled;
    }
);

/** All addresses, by their path, and those with an id by the path before it. */
export interface Addresses {
  readonly exact: ReadonlyMap<string, Address>;
  readonly withId: ReadonlyMap<string, Address>;
}

/** The address with this path, which is neither decoded nor resolved; null: there is none. */
export function addressOfPath({ exact, withId }: Addresses, path: string): Address | null {
  const found = exact.get(path);
  if (found !== undefined) return found;
  const address = withId.get(path.slice(0, path.lastIndexOf("/") + 1));
  return address !== undefined && isExact(path, address.path) ? address : null;
}

/** The addresses of a world. */
export function addressesOf(world: World): Addresses {
  const { accounts, live, pages, pollMs, platform } = world;
  const data = dataAnswers(world);
  const log = publicLog(world);
  const { health, readiness: ready, feed, status, entry, usage } = UNCOUNTED_ROUTES;
  const { smallTile, largeTile } = UNCOUNTED_ROUTES;
  const { contracts, contractsCsv, publications } = UNCOUNTED_ROUTES;
  const open = (path: string, find: (asked: Asked, place: Place) => Handled): Address => ({
    path,
    reader: "everybody",
    find,
  });
  const ofCaller = (
    { path }: { readonly path: string },
    find: (asked: Asked, caller: AdmittedCaller) => Handled,
  ): Address => ({ path, reader: "caller", isCounted: false, find });
  const all: Address[] = [
    open(health.path, () => jsonDocument({ status: "ok" }, platform)),
    open(ready.path, ({ nowMs }) => readiness(live, accounts, nowMs, pollMs, platform)),
    open(feed.path, () => log.feed()),
    open(status.path, (asked) => log.status(asked)),
    open(entry.path, (asked) => log.entry(asked)),
    open(smallTile.path, (asked) => log.tile(asked, smallTile.path, 16)),
    open(largeTile.path, (asked) => log.tile(asked, largeTile.path, 256)),
    open(UNCOUNTED_ROUTES.logKeys.path, () => logKeys(world)),
    ...[...pages.answers].map(([path, find]) => open(path, find)),
    ofCaller(usage, async (asked, caller) => {
      const fault = asked.bodyFault() ?? faultsDenial(nameFaults(asked.query, []));
      if (fault !== null) return fault;
      const used = await accounts.counts.used(caller.subject, asked.nowMs);
      return usageReply(caller, used, asked.nowMs, platform);
    }),
    ofCaller(contracts, contractList(world, "json")),
    ofCaller(contractsCsv, contractList(world, "csv")),
    ofCaller(publications, (asked) => log.list(asked)),
    ...[...Object.values(DATA_ROUTES), SUMS_ROUTE].map((route): Address => ({
      path: route.path,
      reader: "caller",
      isCounted: true,
      find: (asked, caller, place) => data(route, asked, caller, place),
    })),
    {
      path: LINK_PATH,
      reader: "link",
      isCounted: true,
      // Answers with what its account would read; the link is known to name a file.
      find: (asked, holder, place) => {
        const { route, path, query } = targetOf(holder.path as string) as LinkTarget;
        const { headers, nowMs, requestId } = asked;
        const bodyFault = (): ReturnType<Asked["bodyFault"]> => asked.bodyFault();
        const ofTarget = { path, query, headers, route: asked.route, nowMs, requestId, bodyFault };
        return data(route, ofTarget, holder, place);
      },
    },
  ];
  const [withId = [], exact = []] = [true, false].map((takes) =>
    all.filter(({ path }) => takesId(path) === takes),
  );
  return {
    exact: new Map(exact.map((address) => [address.path, address])),
    withId: new Map(withId.map((address) => [prefixOf(address.path), address])),
  };
}
