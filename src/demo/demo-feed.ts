/** The demonstration market as an input of `publish`: rows of quotes, and the same rows as CSV. */
import { formatMicros } from "../market/decimal.ts";
import { dateText, dayOf, parseSession, sessionUtc } from "../market/session.ts";
import type { Session } from "../market/session.ts";
import { readDemoContracts, readDemoCycles, type DemoEvent } from "./demo-catalog.ts";
import { seedOf, uniformAt } from "./random.ts";
import { DEMO_FIRST_SESSION, DemoSeries } from "./demo-series.ts";
import { givesLevel, isMidnight } from "./schedule.ts";

const ALWAYS = ["id", "session_utc", "spot_usd", "basis"] as const;
const SOMETIMES = ["as_of", "break", "low_usd", "high_usd", "inputs"] as const;

/** A row of a quotes file, as text. `as_of` is left out if it is the session's date. */
export type DemoQuote = Readonly<
  Record<(typeof ALWAYS)[number], string> & Partial<Record<(typeof SOMETIMES)[number], string>>
>;

/**
 * The rows of each session from `from` to `to`, both included, in catalog order. There are none before
 * DEMO_FIRST_SESSION. The generator makes one session after another, so any range fits in memory. A session's
 * rows are the same in every range; `misprint` makes one of `to` wrong.
 */
export function* demoHistory(
  from: Session,
  to: Session,
  misprint?: DemoEvent,
): Generator<DemoQuote[]> {
  const contracts = readDemoContracts();
  const byId = new Map(contracts.map((contract) => [contract.id, contract]));
  const cycles = readDemoCycles();
  const market = contracts.map((contract) => new DemoSeries(contract, byId, cycles));
  for (let session = Math.max(from, DEMO_FIRST_SESSION); session <= to; session += 1) {
    const scaleOf = ({ contract }: DemoSeries): number =>
      session === to && contract.id === misprint?.id ? misprint.ratio : 1;
    yield market
      .filter((series) => isPriced(series, session))
      .map((series) => quote(series, session, scaleOf(series)));
  }
}

/** Writes rows as a quotes file in CSV (RFC 4180): the header, then the rows of each session. */
export function* demoCsv(sessions: Iterable<readonly DemoQuote[]>): Generator<string> {
  const columns = [...ALWAYS, ...SOMETIMES];
  // No text has a quotation mark.
  const cell = (text = ""): string => (text.includes(",") ? `"${text}"` : text);
  yield `${columns.join(",")}\r\n`;
  for (const rows of sessions) {
    yield rows.map((row) => `${columns.map((name) => cell(row[name])).join(",")}\r\n`).join("");
  }
}

/** From here on sources say more than a level. Five years of it would make the first start longer. */
const DETAILED_FROM = parseSession("2026-09-01T00Z") as Session;

function quote(series: DemoSeries, session: Session, scale: number): DemoQuote {
  const { id, basis, schedule, breaks } = series.contract;
  const isDayBefores = schedule === "overnight" && isMidnight(session);
  const broken = breaks.find((event) => event.session === session);
  return {
    id,
    session_utc: sessionUtc(session),
    spot_usd: formatMicros(series.at(session, scale)),
    basis,
    ...(isDayBefores && { as_of: dateText(dayOf(session) - 1) }),
    ...(broken && { break: broken.text }),
    ...(session >= DETAILED_FROM && detailsOf(series, session, scale)),
  };
}

/** Spot and contract prices have a range; an assessment has a number of prices behind it. */
function detailsOf(series: DemoSeries, session: Session, scale: number): Partial<DemoQuote> {
  const { id, basis, priceType } = series.contract;
  const draw = (name: string): number => uniformAt(seedOf(`${name} ${id}`), session);
  const away = (share: number): string => formatMicros(series.at(session, scale * (1 + share)));
  const hasRange = priceType === "spot" || priceType === "contract";
  return {
    ...(hasRange && { low_usd: away(-0.03 * draw("low")), high_usd: away(0.03 * draw("high")) }),
    ...(basis === "assessed" && { inputs: String(5 + Math.floor(20 * draw("inputs"))) }),
  };
}

function isPriced(series: DemoSeries, session: Session): boolean {
  const { contract } = series;
  if (contract.listed !== null && session < contract.listed) return false;
  if (contract.delistedOn !== null && dayOf(session) >= contract.delistedOn) return false;
  return series.fixes(session) || givesLevel(contract, session);
}
