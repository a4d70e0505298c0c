/** The exceptions: judgements, carried levels, contracts off the board, breaks, and corrections. */
import { counted } from "../../lib/text.ts";
import type { Correction } from "../../ledger/corrections.ts";
import { carryLimitSessions } from "../../market/contract.ts";
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
import { escaped, foreign, grouped } from "../../site/text.js";
import {
  dateHtml,
  daysText,
  idHtml,
  section,
  sessionHtml,
  table,
  usdText,
  type Headings,
} from "./html.ts";

/** A longer list is cut and says so, so that the page stays small after a correction of years. */
const LISTED_MAX = 300;

const PAST_LEVEL = {
  Contract: "",
  Name: "wide",
  "Level USD": "n",
  "As of": "",
  Age: "n",
  Limit: "n",
} as const;

/** The carried levels, first the one that drops next. */
export function carriedSection(market: Market, view: TierView): string {
  const droppedAt = ({ contract, level }: BoardRecord): number =>
    level.session + carryLimitSessions(contract, market.maxCarryDays);
  const rows = recordsOf(view)
    .filter(({ carried }) => carried)
    .sort((a, b) => droppedAt(a) - droppedAt(b))
    .map((record) => pastLevelRow(market, record));
  return listSection("carried", "Carried", PAST_LEVEL, rows, { all: FILES.manifest });
}

/** The contracts over their carry limit, and those that never had a level. */
export function droppedSection(market: Market, view: TierView): string {
  const rows = droppedOf(view).map((record) => pastLevelRow(market, record));
  const unlisted = view.offBoard.filter(({ last }) => last === null);
  const names = unlisted.map(({ contract }) => idHtml(contract.id)).slice(0, LISTED_MAX);
  const note =
    names.length === 0
      ? ""
      : `\n<p>Without a level so far: ${names.join(", ")}${cutNote(unlisted.length, FILES.manifest)}</p>`;
  return listSection("dropped", "Dropped", PAST_LEVEL, rows, { all: FILES.manifest, note });
}

/** The contracts that the catalog delists, with their last levels. */
export function delistedSection(view: TierView): string {
  const rows = delistedOf(view).map(({ contract, level }) => [
    idHtml(contract.id),
    foreign(contract.name),
    usdText(level.usd),
    dateHtml(dateOf(level)),
    dateHtml(contract.delistedOn as Day),
  ]);
  const headings = {
    Contract: "",
    Name: "wide",
    "Level USD": "n",
    "As of": "",
    "Delisted on": "",
  } as const;
  return listSection("delisted", "Delisted", headings, rows, { all: FILES.manifest });
}

/** What the gates refused and the run let through, and the rows that it held, ignored or rounded. */
export function judgementsSection(judgements: readonly Judgement[]): string {
  const rows = judgements.map(({ gate, contract, measured, limit }) => [
    escaped(gate),
    contract === null ? "" : foreign(contract),
    foreign(String(measured ?? "")),
    foreign(String(limit ?? "")),
  ]);
  const headings = { Gate: "", Contract: "", Measured: "", Limit: "" } as const;
  return listSection("judgements", "Judgements", headings, rows, { all: FILES.manifest });
}

/** A row for a carried or dropped level, with its age and limit in days. */
const pastLevelRow = (market: Market, { session, contract, level }: BoardRecord): string[] => [
  idHtml(contract.id),
  foreign(contract.name),
  usdText(level.usd),
  dateHtml(dateOf(level)),
  `${daysText(session - level.session)} d`,
  `${daysText(carryLimitSessions(contract, market.maxCarryDays))} d`,
];

/** Every break up to the session, newest first. */
export function breaksSection(market: Market, view: TierView): string {
  const breaks = market.catalog
    .flatMap(({ id, name }) =>
      (market.seriesOf(id)?.breaks ?? []).map((item) => ({ id, name, ...item })),
    )
    .filter(({ session }) => session <= view.session)
    .sort((a, b) => b.session - a.session);
  const rows = breaks.map(({ id, name, session, reason }) => [
    idHtml(id),
    foreign(name),
    sessionHtml(session),
    foreign(reason),
  ]);
  const headings = { Contract: "", Name: "wide", From: "", Reason: "" } as const;
  return listSection("breaks", "Breaks", headings, rows, { all: "each contract's file" });
}

/**
 * All corrections, newest first, with a mark at those of this session. Each names the first snapshot
 * with it. The mark depends on the session, not on the revision: a repeated publish must make the same
 * page, though its revision would be another.
 */
export function correctionsSection(corrections: readonly Correction[], session: Session): string {
  const own = `${sessionKey(session)}/`;
  const isOwn = ({ correctedIn }: Correction): boolean => correctedIn.startsWith(own);
  const rows = corrections
    .toReversed()
    .map((item) => [
      idHtml(item.contract),
      sessionHtml(item.session),
      item.oldUsd === null ? "none" : grouped(item.oldUsd),
      item.newUsd === null ? "withdrawn" : grouped(item.newUsd),
      foreign(item.reason),
      `${escaped(item.correctedIn)}${isOwn(item) ? ' <span class="tag">this session</span>' : ""}`,
    ]);
  const headings = {
    Contract: "",
    Session: "",
    "Old USD": "n",
    "New USD": "n",
    Reason: "",
    "Corrected in": "",
  } as const;
  const count = corrections.filter(isOwn).length;
  const note =
    count === 0 ? "" : `\n<p>${counted(count, "correction")} came with this session.</p>`;
  return listSection("corrections", "Corrections", headings, rows, {
    all: FILES.corrections,
    note,
  });
}

/** `all` tells the reader where the whole list is, if it is too long for the page. */
function listSection(
  id: string,
  title: string,
  headings: Headings,
  rows: readonly (readonly string[])[],
  { all, note = "" }: { all: string; note?: string },
): string {
  const heading = `${title} <span class="count">${rows.length}</span>`;
  if (rows.length === 0) return section(id, heading, `<p>None.</p>${note}`);
  const cut =
    rows.length > LISTED_MAX ? `\n<p>The first ${LISTED_MAX}${cutNote(rows.length, all)}</p>` : "";
  return section(id, heading, `${table(title, headings, rows.slice(0, LISTED_MAX))}${cut}${note}`);
}

const cutNote = (total: number, file: string): string =>
  total > LISTED_MAX ? ` of ${total}; all are in ${file} beside this page.` : ".";
