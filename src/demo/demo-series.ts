/**
 * The generator: prices the demonstration's contracts for any session. The price of a chip is
 *
 *     anchor × cycle of its segment × segment's factor × contract's own factor, each relative to the anchor's day,
 *
 * and the price of a module is a multiple of its chip's price, times a factor of its own. Factors are random walks
 * that are pulled back to 1. Each starts at the market's first session with a seed from its own name. So a price
 * depends only on contract and session, and later runs continue the same series. A level is the price of the latest
 * session that fixes one, rounded to the tick: of a contract price each month, of a shop's price at each of its steps.
 */
import type { Micros } from "../market/decimal.ts";
import { SESSIONS_PER_DAY, closeSessionOf, parseDate } from "../market/session.ts";
import type { Day, Session } from "../market/session.ts";
import type { Cycle, DemoContract } from "./demo-catalog.ts";
import { createNoise, seedOf } from "./random.ts";
import { fixesLevel } from "./schedule.ts";

const firstDay: Day = parseDate("2021-11-01") as Day;

/** The market's first session, five years before the day that listings and events refer to. */
export const DEMO_FIRST_SESSION: Session = firstDay * SESSIONS_PER_DAY;

/** The standard deviation of a move from one session to the next, as fractions of the price. */
interface Volatility {
  readonly segment: number;
  readonly own: number;
}

const VOLATILITY: Readonly<Record<string, Volatility>> = {
  DRAM: { segment: 0.006, own: 0.005 },
  HBM: { segment: 0.003, own: 0.002 },
  NAND: { segment: 0.005, own: 0.005 },
  LPDDR: { segment: 0.004, own: 0.003 },
  GPU: { segment: 0.003, own: 0.003 },
  Foundry: { segment: 0.001, own: 0.001 },
};
/** NOR, eMMC and the parts of the semiconductor board. */
const QUIET: Volatility = { segment: 0.002, own: 0.003 };
/** A module's price keeps near the price of its chips. */
const OF_MODULES = 0.002;

/** The share of its distance from 1 that a factor loses per session: half in three months. */
const PULL = 0.004;

/** Prices one contract for sessions in ascending order, from the market's first. */
export class DemoSeries {
  readonly contract: DemoContract;
  readonly #price: Price;
  readonly #first: Session;
  #next: Session;
  #usd = 0;

  /** `cycles` by segment; `contracts` has the chips of modules. */
  constructor(
    contract: DemoContract,
    contracts: ReadonlyMap<string, DemoContract>,
    cycles: ReadonlyMap<string, Cycle>,
  ) {
    this.contract = contract;
    this.#price = priceOf(contract, contracts, cycles);
    this.#first = contract.listed ?? DEMO_FIRST_SESSION;
    this.#next = this.#first;
  }

  /** Whether the source gives a new level for the session. */
  fixes(session: Session): boolean {
    return session === this.#first || fixesLevel(this.contract, session);
  }

  /** The level of a session, on the tick, times `scale`. Sessions must not descend from call to call. */
  at(session: Session, scale = 1): Micros {
    for (; this.#next <= session; this.#next += 1) {
      if (this.fixes(this.#next)) this.#usd = this.#price.at(this.#next);
    }
    return onTick(this.#usd * ratioOf(this.contract, session) * scale);
  }
}

/** The price of a contract before breaks, in micros, for sessions that do not descend. */
interface Price {
  at(session: Session): number;
}

function priceOf(
  contract: DemoContract,
  contracts: ReadonlyMap<string, DemoContract>,
  cycles: ReadonlyMap<string, Cycle>,
): Price {
  const { id, segment, origin } = contract;
  if ("of" in origin) {
    const chip = priceOf(contracts.get(origin.of) as DemoContract, contracts, cycles);
    const own = new Factor(`contract ${id}`, OF_MODULES);
    return { at: (session) => origin.times * chip.at(session) * own.at(session) };
  }
  const volatility = VOLATILITY[segment] ?? QUIET;
  const shape = (): ((session: Session) => number) => {
    const ofSegment = new Factor(`segment ${segment}`, volatility.segment);
    const own = new Factor(`contract ${id}`, volatility.own);
    const cycle = cycles.get(segment);
    return (session) =>
      ofSegment.at(session) * own.at(session) * (cycle === undefined ? 1 : levelOf(cycle, session));
  };
  // An anchor from before the market's first session counts for that session.
  const anchored = Math.max(closeSessionOf(origin.day), DEMO_FIRST_SESSION);
  const unit = origin.level / (shape()(anchored) * ratioOf(contract, anchored));
  const now = shape();
  return { at: (session) => unit * now(session) };
}

/** Where a cycle stands at a session: on the straight line between two of its points. */
function levelOf(cycle: Cycle, session: Session): number {
  const end = cycle.findIndex((point) => point.session > session);
  if (end === 0) return (cycle[0] as Cycle[number]).factor;
  if (end === -1) return (cycle.at(-1) as Cycle[number]).factor;
  const from = cycle[end - 1] as Cycle[number];
  const to = cycle[end] as Cycle[number];
  const share = (session - from.session) / (to.session - from.session);
  return from.factor + (to.factor - from.factor) * share;
}

/** A random walk around 1. It stays above 0, because one draw moves it by a few percent only. */
class Factor {
  readonly #volatility: number;
  readonly #noise: () => number;
  #session = DEMO_FIRST_SESSION;
  #value = 1;

  constructor(name: string, volatility: number) {
    this.#volatility = volatility;
    this.#noise = createNoise(seedOf(name));
  }

  at(session: Session): number {
    for (; this.#session < session; this.#session += 1) {
      this.#value *= 1 + this.#volatility * this.#noise();
      this.#value += PULL * (1 - this.#value);
    }
    return this.#value;
  }
}

/** The price of a session's goods as a fraction of the price of the first goods. */
const ratioOf = ({ breaks }: DemoContract, at: Session): number =>
  breaks.reduce((product, { session, ratio }) => product * ((session ?? 0) <= at ? ratio : 1), 1);

/** Ticks by level: 0.0001 USD, 0.001 from 1, 0.01 from 10, 1 from 1000. */
function onTick(usd: number): Micros {
  const tick = usd < 1e6 ? 100 : usd < 10e6 ? 1_000 : usd < 1_000e6 ? 10_000 : 1e6;
  return Math.max(tick, Math.round(usd / tick) * tick);
}
