/** The page of corrections, `/corrections`, without a key: which publications brought some, and why. */
import { dateText, dayOf, sessionUtc } from "../market/session.ts";
import { tiersWhere } from "../market/tier.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { scrolling, tableHtml, type TableColumn } from "../site/html.js";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { escaped, foreign, grouped, instantHtml } from "../site/text.js";
import { snapshotText } from "../store/paths.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage } from "./page-frame.ts";

/** How many publications the page names. */
const SHOWN = 100;
/** How far back levels are shown to readers with a key, from the session served. */
const SHOWN_DAYS = 90;

const COLUMNS: readonly TableColumn<Publication>[] = [
  { label: "Published", head: "Published", html: ({ at }) => instantHtml(at) },
  { label: "Session", head: "Session", html: ({ session }) => instantHtml(sessionUtc(session)) },
  {
    label: "Levels corrected",
    head: "Levels corrected",
    name: "n",
    html: ({ corrections }) => grouped(String(corrections), 0),
  },
  {
    label: "Reason of the revision",
    head: "Reason",
    name: "long",
    html: ({ reason }) => foreign(reason ?? ""),
  },
  {
    label: "Snapshot",
    head: "Snapshot",
    html: (entry) => `<code>${escaped(snapshotText(entry))}</code>`,
  },
];

/** The page; `publications`: the log, oldest first. */
export function correctionsPage(publications: readonly Publication[]): PageSource {
  const head = publications.at(-1);
  const corrected = publications.filter(({ corrections }) => corrections > 0);
  const newest = corrected.slice(-SHOWN).toReversed();
  return framePage({
    path: PAGES.corrections.path,
    title: "Corrections",
    main: fillTemplate(siteFile("corrections.html"), {
      since: head === undefined ? "" : dateText(dayOf(head.session) - SHOWN_DAYS),
      tiers: tiersWhere(({ history }) => history !== null),
      publications:
        newest.length === 0
          ? "<p>No published level was changed.</p>"
          : scrolling(
              "Table of publications",
              tableHtml(
                ' class="corrections stacked"',
                COLUMNS,
                newest,
                ({ number }) => ` id="publication-${number}"`,
              ),
            ),
    }),
    script: "corrections.js",
    styles: ["skeleton.css", "corrections.css"],
  });
}
