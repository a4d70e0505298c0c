/**
 * A market of 120 contracts with five years of history in which everything happens: a break, a correction,
 * a carried level, a delisted, a renamed and a new contract, in the free slice and outside it; a
 * session that was missed, a revised one, and one that is overdue.
 */
import { dateText, dayOf, sessionStartMs } from "../../src/market/session.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { at, mustPublish } from "../cli/small-market.ts";
import { TestClock } from "../http/fixture.ts";

const CONTRACTS = 120;
const FREE_CONTRACTS = 10;
const KINDS = ["carried", "broken", "delisted", "renamed", "corrected", "young", "plain"] as const;
type Kind = (typeof KINDS)[number];

/** The segments in the catalog; the last two have no contract in the free slice. */
export const SEGMENTS = ["DRAM", "NAND flash", "Sealed interposers", "Guarded photomasks"];

export interface Listed {
  readonly id: string;
  readonly kind: Kind;
  readonly isFree: boolean;
  readonly name: string;
  readonly board: "memory" | "semiconductor";
  readonly segment: string;
}

/** In the order of the boards. */
export const LISTED: readonly Listed[] = Array.from({ length: CONTRACTS }, (_, at) => {
  const isFree = at < FREE_CONTRACTS;
  const place = isFree ? at : at - FREE_CONTRACTS;
  const kind = KINDS[place] ?? "plain";
  const slice = isFree ? "free" : "keyed";
  return {
    id: kind === "plain" ? `${slice}-plain-${at}` : `${slice}-${kind}`,
    kind,
    isFree,
    name: `${isFree ? "Shown" : "Withheld"} ${kind} part no. ${at}, as it is traded`,
    board: at < 90 ? "memory" : "semiconductor",
    segment: SEGMENTS[isFree ? at % 2 : at < 90 ? at % 3 : 3] as string,
  };
});

/** Ids of the kind: in the free slice, then outside it. */
export const idsOf = (wanted: Kind): readonly string[] =>
  LISTED.filter(({ kind }) => kind === wanted).map(({ id }) => id);

const FIRST = at("2026-11-19T12Z");
/** FIRST + 1 is missed. */
const REVISED = FIRST + 2;
/** The session that is served to those who see the newest one. */
export const HEAD = FIRST + 3;
/** One session is overdue. */
export const NOW_MS = sessionStartMs(HEAD + 1) + 65 * 60_000;

const TODAY = dayOf(FIRST);
const BREAK_DAY = TODAY - 30;
const CORRECTED_DAY = TODAY - 9;

/** Publishes it. */
export async function publishMarket(): Promise<MemoryStore> {
  const store = new MemoryStore();
  const levels = LISTED.map((listed, place) => ({ listed, walk: walkOf(place) }));
  const closes = levels.flatMap(({ listed, walk }) => closesOf(listed, walk));
  const quotes = (bonus: number): string =>
    [
      "id,spot_usd,low_usd,high_usd,inputs,basis,rationale",
      ...levels
        .filter(({ listed: { kind } }) => kind !== "carried" && kind !== "delisted")
        .map(({ listed, walk }, place) => {
          const micros = Math.round(micrOf(listed, TODAY, walk) * (1 + bonus + place / 50_000));
          const [low, high] = [micros - 250_001, micros + 250_001].map(usd);
          const basis = ["reported", "assessed", "estimated"][place % 3];
          return `${listed.id},${usd(micros)},${low},${high},${place + 3},${basis},"Judged from offers, not from trades"`;
        }),
      "",
    ].join("\n");
  await mustPublish(store, {
    ...runAt(FIRST),
    catalog: catalog(false),
    closes: ["id,date,close_usd,break", ...closes, ""].join("\n"),
    attribution: "Illustrative levels of a test, not market data",
  });
  await mustPublish(store, { ...runAt(REVISED), catalog: catalog(true), quotes: quotes(0.011) });
  const corrections = levels
    .filter(({ listed: { kind } }) => kind === "corrected")
    .map(({ listed, walk }) => {
      const micros = Math.round(micrOf(listed, CORRECTED_DAY, walk) * 1.04);
      return `${listed.id},${dateText(CORRECTED_DAY)},${usd(micros)}`;
    });
  await mustPublish(store, {
    ...runAt(REVISED, 90),
    closes: ["id,date,close_usd", ...corrections, ""].join("\n"),
    revise: "The source corrected its report",
  });
  await mustPublish(store, { ...runAt(HEAD), quotes: quotes(-0.007) });
  return store;
}

/** The clock of a proxy that serves it. */
export const marketClock = (): TestClock => new TestClock(NOW_MS);

const runAt = (session: number, minutes = 5) => ({
  session: new Date(sessionStartMs(session)).toISOString(),
  nowMs: sessionStartMs(session) + minutes * 60_000,
});

/** Before and after the second publish, which renames and delists. */
function catalog(isLater: boolean): string {
  const rows = LISTED.map(({ id, kind, isFree, name, board, segment }, place) => {
    const isRenamed = kind === "renamed";
    return [
      isRenamed && !isLater ? formerId(id) : id,
      `${isFree ? "SHN" : "WHD"}-${place}`,
      `"${name}"`,
      board,
      segment,
      "USD per piece",
      place % 90,
      `"Source ${place} of a test"`,
      `https://source-${place}.example/prices`,
      place % 5 === 0 ? 2 : "",
      isFree,
      ["spot", "contract", "retail"][place % 3],
      kind === "delisted" && isLater ? "2026-11-20" : "",
      isRenamed && isLater ? formerId(id) : "",
    ].join(",");
  });
  const columns =
    "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb,free,price_type,delisted_on,formerly";
  return [columns, ...rows, ""].join("\n");
}

export const formerId = (id: string): string => `${id}-formerly`;

/** Days with a close: every thirtieth of five years, then each of the last 100. */
const DAYS = [
  ...Array.from({ length: 60 }, (_, month) => TODAY - 100 - (60 - month) * 30),
  ...Array.from({ length: 101 }, (_, day) => TODAY - 100 + day),
];

/** Micro-dollars by day: a fixed walk that differs for each contract. */
function walkOf(place: number): ReadonlyMap<number, number> {
  let seed = place + 1;
  let micros = 5_000_000 + place * 2_718_281;
  return new Map(
    DAYS.map((day) => {
      // Park and Miller's generator. Any fixed sequence would work.
      seed = (seed * 48_271) % 2_147_483_647;
      micros += Math.round((micros * ((seed % 2_001) - 995)) / 70_000);
      return [day, micros];
    }),
  );
}

/** Levels before a break are a tenth: they are of another package. */
const micrOf = ({ kind }: Listed, day: number, walk: ReadonlyMap<number, number>): number => {
  const micros = walk.get(day) as number;
  return kind === "broken" && day < BREAK_DAY ? Math.round(micros / 10) : micros;
};

function closesOf(listed: Listed, walk: ReadonlyMap<number, number>): string[] {
  const { id, kind } = listed;
  const from = kind === "young" ? TODAY - 40 : -Infinity;
  return DAYS.filter((day) => day >= from).map((day) => {
    const isBreak = kind === "broken" && day === BREAK_DAY;
    const reason = isBreak ? `Sold by the tray from now on (${id})` : "";
    const written = kind === "renamed" ? formerId(id) : id;
    return `${written},${dateText(day)},${usd(micrOf(listed, day, walk))},${reason}`;
  });
}

/** Micro-dollars as a decimal in dollars. */
function usd(micros: number): string {
  const digits = String(micros).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
