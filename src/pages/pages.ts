/** All pages of a service, as the core finds them. */
import { publicLog } from "../core/publications/public-log.ts";
import type { Asked, Outcome } from "../core/outcome.ts";
import type { Pages, World } from "../core/world.ts";
import type { Place } from "../lib/turns.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import { correctionsPage } from "./corrections-page.ts";
import { robots } from "./crawlers.ts";
import { livePages, type LivePagesOptions } from "./live-pages.ts";
import { asSent } from "./page-frame.ts";
import { problemPage } from "./problem-page.ts";
import { statusPage } from "./status-page.ts";

/** The pages of a service; `files` are those that never change (see fixedPages). */
export function pagesOf(
  options: LivePagesOptions & Pick<World, "log" | "turns">,
  files: Pages["answers"],
): Pages {
  const { live, graceMs, origin } = options;
  const log = publicLog(options);
  const sent = (page: Parameters<typeof asSent>[0]): typeof page =>
    asSent(page, options, live.current?.attribution);
  const answers = new Map<string, (asked: Asked, place: Place) => Outcome | Promise<Outcome>>([
    ...files,
    ...livePages(options),
    [PAGES.robots.path, () => log.pageOf(PAGES.robots.path, () => robots(origin))],
    [
      PAGES.status.path,
      (asked) =>
        log.statusAs(asked, PAGES.status.path, (status, publications) => {
          const corrected = publications.findLast(({ corrections }) => corrections > 0);
          return sent(statusPage(status, graceMs, corrected));
        }),
    ],
    [
      PAGES.corrections.path,
      () =>
        log.pageOf(PAGES.corrections.path, (publications) => sent(correctionsPage(publications))),
    ],
  ]);
  return {
    answers,
    problem: (denial, path, requestId) => problemPage(denial, path, requestId, options),
  };
}
