/**
 * The series of a market whose prices come late, not at all, or wrong, beside the series that knows every price on its
 * day: an error may stand for a while, but none may grow. By the naive calculation, which equals the program
 * (series-history.test.ts).
 */
import { describe, expect, test } from "vitest";
import { measured, membersOn, type Members, type SeriesLevel } from "./naive-series.ts";

const SEEDS = 150;
const FIRST = Date.parse("2024-03-01") / 86_400_000;
/** The last days of the first year and of the second. */
const ENDS = [Date.parse("2025-03-01"), Date.parse("2026-03-01")].map((ms) => ms / 86_400_000);
const LAST = ENDS[1] as number;
/** The market rises 5 % a month. */
const RISE = (12 * Math.log(1.05)) / 365.25;

/** Numbers from 0 up to 1, the same for a seed (mulberry32, of Tommy Ettinger, public domain). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Random = () => number;

const between = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1));

/** A price of a day that the publisher gets to know. */
interface News {
  readonly knownOn: number;
  readonly day: number;
  readonly usd: number;
}

/** A contract with its true prices, one for each day from its entry to its delisting. */
interface Traded {
  readonly id: string;
  readonly enters: number;
  readonly leaves: number | null;
  readonly limitDays: number;
  readonly prices: ReadonlyMap<number, number>;
  /** In the order in which they get known. */
  readonly news: readonly News[];
}

/** What goes wrong. */
interface Faults {
  /** The news of a true price. */
  readonly tell: (random: Random, day: number, usd: number) => News[];
  /** For how many days from this one on prices are missing. */
  readonly pause?: (random: Random) => number;
  /** Whether contracts enter and leave. */
  readonly moves?: boolean;
  /** Whether every other contract is monthly. */
  readonly monthly?: boolean;
}

const onTime = (_random: Random, day: number, usd: number): News[] => [{ knownOn: day, day, usd }];

/** One price in five comes up to three weeks late. */
const late = (random: Random, day: number, usd: number): News[] => [
  { knownOn: day + (random() < 0.2 ? between(random, 1, 21) : 0), day, usd },
];

const isWrong = (random: Random): boolean => random() < 0.001;
const wrongly = (random: Random, usd: number): number => (random() < 0.5 ? usd * 10 : usd / 10);

/** A misprint stays. */
const mistaken = (random: Random, day: number, usd: number): News[] => [
  { knownOn: day, day, usd: isWrong(random) ? wrongly(random, usd) : usd },
];

/** A misprint is corrected some days later. */
const corrected = (random: Random, day: number, usd: number): News[] => {
  if (!isWrong(random)) return onTime(random, day, usd);
  const knownOn = day + between(random, 1, 7);
  return [
    { knownOn: day, day, usd: wrongly(random, usd) },
    { knownOn, day, usd },
  ];
};

/** A source is silent for up to four months, longer than its last price is carried. */
const silent = (random: Random): number => (random() < 0.005 ? between(random, 1, 120) : 0);

const FAULTS: Readonly<Record<string, Faults>> = {
  "late prices": { tell: late },
  "missing prices": { tell: onTime, pause: silent },
  "mistaken prices": { tell: mistaken },
  "corrected prices": { tell: corrected },
  "entries and delistings": { tell: onTime, moves: true },
  "monthly prices that are known 35 days late": { tell: onTime, monthly: true },
  "all of them": {
    tell: (random, day, usd) => (random() < 0.5 ? late : corrected)(random, day, usd),
    pause: silent,
    moves: true,
    monthly: true,
  },
};

function marketOf(random: Random, faults: Faults): Traded[] {
  return Array.from({ length: between(random, 2, 8) }, (_, at) => {
    const isLater = faults.moves === true && at > 0 && random() < 0.6;
    const enters = isLater ? between(random, FIRST, LAST - 60) : FIRST;
    const isLeaving = faults.moves === true && at > 0 && random() < 0.3;
    const leaves = isLeaving ? between(random, enters + 30, LAST + 30) : null;
    const isMonthly = faults.monthly === true && at % 2 === 1;
    const prices = new Map<number, number>();
    const news: News[] = [];
    let log = Math.log(between(random, 1, 500));
    let silentUntil = 0;
    for (let day = enters; day <= LAST && day !== leaves; day += 1) {
      log += RISE + 0.01 * (random() + random() + random() - 1.5);
      const usd = Math.exp(log);
      prices.set(day, usd);
      if (day >= silentUntil) silentUntil = day + (faults.pause?.(random) ?? 0);
      if (isMonthly) {
        const isFirst = new Date(day * 86_400_000).getUTCDate() === 1;
        if (isFirst) news.push({ knownOn: day + 35, day, usd });
      } else if (day >= silentUntil) {
        news.push(...faults.tell(random, day, usd));
      }
    }
    return {
      id: `c-${at}`,
      enters,
      leaves,
      limitDays: isMonthly ? 46 : 45,
      prices,
      news: news.toSorted((a, b) => a.knownOn - b.knownOn),
    };
  });
}

const levelOf = (day: number, usd: number): SeriesLevel => ({
  session: 2 * day + 1,
  usd: usd.toFixed(6),
  isBreak: false,
});

/** The closes of the ends of both years, each as its day's publication calculates it. */
function published(market: readonly Traded[]): number[] {
  const members = new Map<number, Members>();
  const ledger = new Map<string, SeriesLevel[]>(market.map(({ id }) => [id, []]));
  const told = market.map(() => 0);
  const closes: number[] = [];
  const contracts = market.map(({ id, leaves: delistedDay, limitDays }) => {
    return { id, index: "all", delistedDay, limitDays };
  });
  for (let day = FIRST; day <= LAST; day += 1) {
    market.forEach(({ id, news }, at) => {
      const levels = ledger.get(id) as SeriesLevel[];
      for (
        ;
        (news[told[at] as number]?.knownOn ?? Infinity) <= day;
        told[at] = (told[at] as number) + 1
      ) {
        const { day: of, usd } = news[told[at] as number] as News;
        const level = levelOf(of, usd);
        const place = levels.findLastIndex(({ session }) => session <= level.session);
        const isThere = levels[place]?.session === level.session;
        levels.splice(isThere ? place : place + 1, isThere ? 1 : 0, level);
      }
    });
    const inForce = membersOn(contracts, ledger, day);
    if (members.size > 0 || inForce.size > 0) members.set(day, inForce);
    if (ENDS.includes(day)) closes.push(valuesOf(members, ledger).get(day) as number);
  }
  return closes;
}

/** The same of somebody who knows all prices on their day. */
function truth(market: readonly Traded[]): number[] {
  const ledger = new Map(
    market.map(({ id, prices }) => [id, [...prices].map(([day, usd]) => levelOf(day, usd))]),
  );
  const members = new Map<number, Members>();
  for (let day = FIRST; day <= LAST; day += 1) {
    const there = market.filter(({ prices }) => prices.has(day));
    members.set(day, new Map(there.map(({ id }) => [id, 0])));
  }
  const values = valuesOf(members, ledger);
  return ENDS.map((day) => values.get(day) as number);
}

const valuesOf = (
  members: ReadonlyMap<number, Members>,
  ledger: ReadonlyMap<string, readonly SeriesLevel[]>,
): ReadonlyMap<number, number> =>
  measured({ closes: new Map(), members, link: null }, ledger).values;

describe("the distance from the truth does not grow with", () => {
  test.each(Object.entries(FAULTS))("%s", (_name, faults) => {
    const errors = Array.from({ length: SEEDS }, (_, seed) => {
      const market = marketOf(randomOf(1 + seed), faults);
      const closes = published(market);
      const right = truth(market);
      return ENDS.map((_day, at) => Math.log((closes[at] as number) / (right[at] as number)));
    });
    const mean = (at: number): number =>
      errors.reduce((sum, pair) => sum + (pair[at] as number), 0) / SEEDS;
    expect(Math.abs(mean(1) - mean(0))).toBeLessThan(0.01);
  });
});
