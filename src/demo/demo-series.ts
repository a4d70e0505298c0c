/**
 * The generator: prices the demonstration's contracts for any session. A level is
 *
 *     anchor × segment's factor × contract's own factor, each relative to the anchor's day,
 *
 * rounded to the contract's tick. Factors are random walks that are pulled back to 1. Each starts at
 * the market's first session with a seed from its own name. So a level depends only on contract and
 * session, and later runs continue the same series.
 */
import type { Micros } from "../market/decimal.ts";
import { SESSIONS_PER_DAY, closeSessionOf, parseDate } from "../market/session.ts";
import type { Day, Session } from "../market/session.ts";
import type { DemoContract } from "./demo-catalog.ts";
import { createNoise, seedOf } from "./random.ts";

const firstDay: Day = parseDate("2021-11-01") as Day;

/** The market's first session, five years before the day that listings and events refer to. */
export const DEMO_FIRST_SESSION: Session = firstDay * SESSIONS_PER_DAY;

/** The standard deviation of a move from one session to the next, as fractions of the level. */
interface Volatility {
  readonly segment: number;
  readonly own: number;
}

const VOLATILITY: Readonly<Record<string, Volatility>> = {
  DRAM: { segment: 0.008, own: 0.006 },
  HBM: { segment: 0.004, own: 0.003 },
  NAND: { segment: 0.007, own: 0.006 },
  LPDDR: { segment: 0.006, own: 0.004 },
  SSD: { segment: 0.006, own: 0.005 },
  GPU: { segment: 0.005, own: 0.004 },
  Foundry: { segment: 0.002, own: 0.003 },
};
/** NOR, eMMC and the parts of the semiconductor board. */
const QUIET: Volatility = { segment: 0.003, own: 0.004 };

/** The share of its distance from 1 that a factor loses per session: half in eleven months. */
const PULL = 0.001;

/** Prices one contract for sessions in ascending order, from the market's first. */
export class DemoSeries {
  readonly contract: DemoContract;
  readonly #segment: Factor;
  readonly #own: Factor;
  /** The anchor divided by the factors of its day. */
  readonly #unit: Micros;

  constructor(contract: DemoContract) {
    const factors = (): [Factor, Factor] => {
      const { segment, own } = VOLATILITY[contract.segment] ?? QUIET;
      return [
        new Factor(`segment ${contract.segment}`, segment),
        new Factor(`contract ${contract.id}`, own),
      ];
    };
    // An anchor from before the market's first session counts for that session.
    const anchored = Math.max(closeSessionOf(contract.anchorDay), DEMO_FIRST_SESSION);
    const [segmentThen, ownThen] = factors();
    const respecified = ratioOf(contract, anchored);
    this.#unit = contract.anchor / (segmentThen.at(anchored) * ownThen.at(anchored) * respecified);
    [this.#segment, this.#own] = factors();
    this.contract = contract;
  }

  /** The level of a session, on the tick, times `scale`. Sessions must not descend from call to call. */
  at(session: Session, scale = 1): Micros {
    const factor = this.#segment.at(session) * this.#own.at(session);
    return onTick(this.#unit * factor * ratioOf(this.contract, session) * scale);
  }
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

/** What is sold at a session costs this much of what was sold at first. */
const ratioOf = ({ breaks }: DemoContract, at: Session): number =>
  breaks.reduce((product, { session, ratio }) => product * ((session ?? 0) <= at ? ratio : 1), 1);

/** Ticks by level: 0.0001 USD, 0.001 from 1, 0.01 from 10, 1 from 1000. */
function onTick(usd: number): Micros {
  const tick = usd < 1e6 ? 100 : usd < 10e6 ? 1_000 : usd < 1_000e6 ? 10_000 : 1e6;
  return Math.max(tick, Math.round(usd / tick) * tick);
}
