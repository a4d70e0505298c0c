/** The exceptions: judgements, carried levels, contracts off the board, breaks, and corrections. */
import { counted } from "../../lib/text.ts";
import type { Correction } from "../../ledger/corrections.ts";
import { carryLimitSessions } from "../../market/contract.ts";
import type { Movement } from "../../market/coverage.ts";
import { dateOf } from "../../market/series.ts";
import { sessionKey, type Day, type Session } from "../../market/session.ts";
import {
  delistedOf,
  droppedOf,
  recordsOf,
  type BoardRecord,
  type Market,
  type TierView,
} from "../../market/view.ts";
import type { Judgement } from "../../snapshot/judgement.ts";
import { FILES } from "../../store/paths.ts";
import { scrolling, section, tableHtml, type TableColumn } from "../../site/html.js";
import { escaped, foreign, grouped } from "../../site/text.js";
import { contractHtml, dateHtml, daysText, sessionHtml, usdText } from "./html.ts";

/** A longer list is cut and says so, so that the page stays small after a correction of years. */
const LISTED_MAX = 300;

type Dated = Pick<BoardRecord, "contract" | "level">;

const LAST_LEVEL: readonly TableColumn<Dated>[] = [
  { label: "Contract", html: ({ contract }) => contractHtml(contract) },
  { label: "Level USD", name: "n", html: ({ level }) => usdText(level.usd) },
  { label: "As of", html: ({ level }) => dateHtml(dateOf(level)) },
];

/** Of carried and dropped levels, with their age and limit in days. */
const pastLevel = ({ maxCarryDays }: Market): TableColumn<BoardRecord>[] => [
  ...LAST_LEVEL,
  {
    label: "Age",
    name: "n",
    html: ({ session, level }) => `${daysText(session - level.session)} d`,
  },
  {
    label: "Limit",
    name: "n",
    html: ({ contract }) => `${daysText(carryLimitSessions(contract, maxCarryDays))} d`,
  },
];

/** The carried levels, first the one that drops next. */
export function carriedSection(market: Market, view: TierView): string {
  const droppedAt = ({ contract, level }: BoardRecord): number =>
    level.session + carryLimitSessions(contract, market.maxCarryDays);
  const rows = recordsOf(view)
    .filter(({ carried }) => carried)
    .sort((a, b) => droppedAt(a) - droppedAt(b));
  return listSection("carried", "Carried", pastLevel(market), rows, { all: FILES.manifest });
}

/** The contracts over their carry limit, and those that never had a level. */
export function droppedSection(market: Market, view: TierView): string {
  const unlisted = view.offBoard.filter(({ last }) => last === null);
  const names = unlisted.map(({ contract }) => contractHtml(contract)).slice(0, LISTED_MAX);
  const note =
    names.length === 0
      ? ""
      : `\n<p>Without a level so far: ${names.join(", ")}${cutNote(unlisted.length, FILES.manifest)}</p>`;
  return listSection("dropped", "Dropped", pastLevel(market), droppedOf(view), {
    all: FILES.manifest,
    note,
  });
}

/** The contracts that the catalog delists, with their last levels. */
export const delistedSection = (view: TierView): string =>
  listSection(
    "delisted",
    "Delisted",
    [
      ...LAST_LEVEL,
      { label: "Delisted on", html: ({ contract }) => dateHtml(contract.delistedOn as Day) },
    ],
    delistedOf(view),
    { all: FILES.manifest },
  );

/** What the gates refused and the run let through, and the rows that it held, ignored or rounded. */
export const judgementsSection = (
  judgements: readonly Judgement[],
  { catalog }: Pick<Market, "catalog">,
): string =>
  listSection(
    "judgements",
    "Judgements",
    [
      { label: "Gate", html: ({ gate }) => escaped(gate) },
      {
        label: "Contract or index",
        html: ({ contract, index = "" }) => namedHtml(catalog, contract ?? index),
      },
      { label: "Measured", html: ({ measured }) => foreign(String(measured ?? "")) },
      { label: "Limit", html: ({ limit }) => foreign(String(limit ?? "")) },
    ],
    judgements,
    { all: FILES.manifest },
  );

/** Contracts priced at least daily whose given level has not moved for long. */
export const stillSection = ({ still }: Movement, session: Session): string =>
  listSection(
    "still",
    "Standing still",
    [
      { label: "Contract", html: ({ contract }) => contractHtml(contract) },
      { label: "Since", html: ({ since }) => sessionHtml(since) },
      { label: "Sessions", name: "n", html: ({ since }) => String(session - since) },
    ],
    still,
    { all: FILES.manifest },
  );

/** Every break up to the session, newest first. */
export function breaksSection(market: Market, view: TierView): string {
  const breaks = market.catalog
    .flatMap(({ id, name }) =>
      (market.seriesOf(id)?.breaks ?? []).map((item) => ({ id, name, ...item })),
    )
    .filter(({ session }) => session <= view.session)
    .sort((a, b) => b.session - a.session);
  const columns: TableColumn<(typeof breaks)[number]>[] = [
    { label: "Contract", html: contractHtml },
    { label: "From", html: ({ session }) => sessionHtml(session) },
    { label: "Reason", name: "long", html: ({ reason }) => foreign(reason) },
  ];
  return listSection("breaks", "Breaks", columns, breaks, { all: "each contract's file" });
}

/**
 * All corrections, newest first; corrections of this session have a mark. Each names the first snapshot
 * with it. The mark depends on the session, not on the revision: a repeated publish must make the same
 * page, though its revision would be another.
 */
export function correctionsSection(
  corrections: readonly Correction[],
  session: Session,
  { catalog }: Pick<Market, "catalog">,
): string {
  const own = `${sessionKey(session)}/`;
  const isOwn = ({ correctedIn }: Correction): boolean => correctedIn.startsWith(own);
  const columns: TableColumn<Correction>[] = [
    { label: "Contract", html: ({ contract }) => namedHtml(catalog, contract) },
    { label: "Session", html: (item) => sessionHtml(item.session) },
    {
      label: "Old USD",
      name: "n",
      html: ({ oldUsd }) => (oldUsd === null ? "none" : grouped(oldUsd)),
    },
    {
      label: "New USD",
      name: "n",
      html: ({ newUsd }) => (newUsd === null ? "withdrawn" : grouped(newUsd)),
    },
    { label: "Reason", name: "long", html: ({ reason }) => foreign(reason) },
    {
      label: "Corrected in",
      html: (item) =>
        escaped(item.correctedIn) + (isOwn(item) ? ' <span class="tag">this session</span>' : ""),
    },
  ];
  const count = corrections.filter(isOwn).length;
  const note =
    count === 0 ? "" : `\n<p>${counted(count, "correction")} came with this session.</p>`;
  return listSection("corrections", "Corrections", columns, corrections.toReversed(), {
    all: FILES.corrections,
    note,
  });
}

/** The contract of an id; an id that the catalog does not have stands alone. */
function namedHtml(catalog: Market["catalog"], id: string): string {
  const contract = catalog.find((known) => known.id === id);
  return contract === undefined ? foreign(id) : contractHtml(contract);
}

/** `all` tells the reader where the whole list is, if it is too long for the page. */
function listSection<Row>(
  id: string,
  title: string,
  columns: readonly TableColumn<Row>[],
  rows: readonly Row[],
  { all, note = "" }: { all: string; note?: string },
): string {
  const heading = `${title} <span class="count">${rows.length}</span>`;
  if (rows.length === 0) return section(id, heading, `<p>None.</p>${note}`);
  const cut =
    rows.length > LISTED_MAX ? `\n<p>The first ${LISTED_MAX}${cutNote(rows.length, all)}</p>` : "";
  const table = scrolling(title, tableHtml("", columns, rows.slice(0, LISTED_MAX)));
  return section(id, heading, `${table}${cut}${note}`);
}

const cutNote = (total: number, file: string): string =>
  total > LISTED_MAX ? ` of ${total}; all are in ${file} beside this page.` : ".";
