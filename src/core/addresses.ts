/** Which address answers with what, as one h3 app. Each request takes the same road (road.ts). */
import { H3, type H3Event } from "h3";
import type { IncomingMessage, ServerResponse } from "node:http";
import { FastResponse } from "srvx";
import { jsonDocument, type Asked, type Found, type Outcome } from "./outcome.ts";
import { contractList } from "./find/contract-list.ts";
import { dataAnswers, type DataSources } from "./find/data.ts";
import { targetOf, type LinkTarget } from "./find/link-target.ts";
import type { PublicLog } from "./publications/public-log.ts";
import { readiness } from "./find/readiness.ts";
import { faultsDenial, nameFaults } from "../public/query.ts";
import { DATA_ROUTES, LINK_PATH, SUMS_ROUTE } from "../public/routes.ts";
import { PAGES, UNCOUNTED_ROUTES } from "../public/uncounted-routes.ts";
import { usageReply } from "./quota.ts";
import { roadOf, type Address, type RoadOptions } from "./answer.ts";

export interface AppOptions extends DataSources, RoadOptions {
  /** The answers that stay, by path. */
  readonly pages: ReadonlyMap<string, Promise<Found>>;
  /** Those that change with the snapshot. */
  readonly livePages: ReadonlyMap<string, (asked: Asked) => Promise<Outcome>>;
  readonly publicLog: PublicLog;
}

/** What Node hands over. */
interface HttpPair {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** The road writes to the connection itself, so h3 gets an answer that nobody sends. */
const SENT = new FastResponse(null);

/** Makes the app. It takes requests of Node's HTTP server (see server.ts). */
export function createApp(options: AppOptions): H3 {
  // A path with malformed escapes reaches the routes and gets a 404.
  const app = new H3({ allowMalformedURL: true, silent: true });
  const travel = roadOf(options);
  const sent = (): Response => SENT;
  const handlerFor = (address: Address | null) => (event: H3Event) => {
    const { node } = event.runtime as { readonly node: HttpPair };
    return travel(address, node.req, node.res).then(sent);
  };
  for (const address of addressesOf(options)) {
    app.all(address.path.replace("{id}", ":id"), handlerFor(address));
  }
  app.all("/**", handlerFor(null));
  return app;
}

function addressesOf(options: AppOptions): Address[] {
  const { gatekeeper, pages, livePages, publicLog, live, pollMs } = options;
  const data = dataAnswers(options);
  const open = (path: string, find: (asked: Asked) => Outcome | Promise<Outcome>): Address => ({
    path,
    reader: "everybody",
    find,
  });
  return [
    open(UNCOUNTED_ROUTES.health.path, () => jsonDocument({ status: "ok" })),
    open(UNCOUNTED_ROUTES.readiness.path, ({ nowMs }) =>
      readiness(live, gatekeeper, nowMs, pollMs),
    ),
    open(UNCOUNTED_ROUTES.feed.path, () => publicLog.feed()),
    open(UNCOUNTED_ROUTES.status.path, (asked) => publicLog.status(asked)),
    open(PAGES.status.path, (asked) => publicLog.statusPage(asked)),
    open(PAGES.corrections.path, () => publicLog.correctionsPage()),
    ...[...livePages].map(([path, find]) => open(path, find)),
    ...[...pages].map(([path, found]) => open(path, () => found)),
    open(UNCOUNTED_ROUTES.entry.path, (asked) => publicLog.entry(asked)),
    {
      path: UNCOUNTED_ROUTES.usage.path,
      reader: "caller",
      isCounted: false,
      find: async (asked, caller) => {
        const fault = asked.bodyFault() ?? faultsDenial(nameFaults(asked.query, []));
        if (fault !== null) return fault;
        const used = await gatekeeper.counts.used(caller.subject, asked.nowMs);
        return usageReply(caller, used, asked.nowMs);
      },
    },
    {
      path: UNCOUNTED_ROUTES.contracts.path,
      reader: "caller",
      isCounted: false,
      find: contractList(options, "json"),
    },
    {
      path: UNCOUNTED_ROUTES.contractsCsv.path,
      reader: "caller",
      isCounted: false,
      find: contractList(options, "csv"),
    },
    {
      path: UNCOUNTED_ROUTES.publications.path,
      reader: "caller",
      isCounted: false,
      find: (asked) => publicLog.list(asked),
    },
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
      // Answers with what its account would read; the road has seen that the link names a file.
      find: (asked, holder, place) => {
        const { route, path, query } = targetOf(holder.path as string) as LinkTarget;
        const { headers, nowMs, requestId } = asked;
        const bodyFault = (): ReturnType<Asked["bodyFault"]> => asked.bodyFault();
        return data(
          route,
          { path, query, headers, route: asked.route, nowMs, requestId, bodyFault },
          holder,
          place,
        );
      },
    },
  ];
}
