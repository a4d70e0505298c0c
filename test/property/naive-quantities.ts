/** The second calculation of a basket of quantities, and of what all baskets are priced from. */
import {
  fractionOf,
  HUNDRED,
  minus,
  over,
  percentChange,
  plus,
  rounded,
  times,
  ZERO,
  type Fraction,
} from "./naive-fraction.ts";
import {
  DAY,
  inForce,
  isBroken,
  onBoard,
  usdOf,
  yearsBefore,
  type RawMarket,
} from "./naive-levels.ts";
import { naiveIndex } from "./naive-market.ts";

/** A part of a basket as pro's basket.json has it. */
type Part = Readonly<Record<string, string | null>>;

/** A basket of quantities, with its fields in the order of the body. Every pick must be on the board. */
export function naiveQuantities(
  raw: RawMarket,
  sessionUtc: string,
  picks: readonly string[],
  quantities: readonly string[],
): unknown {
  const board = naiveBasketFile(raw, sessionUtc) as readonly Part[];
  const parts = picks.map((pick) => board.find(({ id }) => id === pick) as Part);
  const spent = (field: string): (Fraction | null)[] =>
    parts.map((part, place) => {
      const level = part[field] ?? null;
      if (level === null) return null;
      return times(fractionOf(quantities[place] as string), fractionOf(level.slice(1)));
    });
  /** Null: a part lacks it. */
  const cost = (field: string): Fraction | null =>
    spent(field).reduce((sum, one) => sum && one && plus(sum, one), ZERO);
  const now = cost("spot_usd") as Fraction;
  const changeSince = (field: string): string | null => {
    const then = cost(field);
    return then && percentChange(now, then);
  };
  const base = cost("base_usd");
  const dayAgo = cost("then_24h_usd");
  const compared = parts.map((_, place) => ({
    now: spent("spot_usd")[place] as Fraction,
    base: spent("base_usd")[place] ?? null,
  }));
  const shares = parts.map((part, place) => {
    const { now: nowCost, base: baseCost } = compared[place] as (typeof compared)[number];
    const dayAgoCost = spent("then_24h_usd")[place] ?? null;
    return {
      weight_pct: base && baseCost && percentOf(baseCost, base),
      base_usd: part["base_usd"],
      spot_usd: part["spot_usd"],
      relative: baseCost && rounded(over(nowCost, baseCost), 6),
      contribution: base && baseCost && percentOf(minus(nowCost, baseCost), base),
      contribution_24h_pct: dayAgo && dayAgoCost && percentOf(minus(nowCost, dayAgoCost), dayAgo),
    };
  });
  return {
    base: naiveIndex(raw, sessionUtc, []).base,
    level: base && percentOf(now, base),
    chg_24h_pct: changeSince("then_24h_usd"),
    chg_30d_pct: changeSince("then_30d_usd"),
    cost_usd: rounded(now, 6),
    cost_base_usd: textOf(base),
    cost_24h_usd: textOf(dayAgo),
    cost_30d_usd: textOf(cost("then_30d_usd")),
    without_base: parts.flatMap(({ id, reason }) => (reason === null ? [] : [{ id, reason }])),
    like_for_like: naiveLikeForLike(compared),
    constituents: `#${parts.length}`,
    carried: `#${parts.filter(({ basis }) => basis === "carried").length}`,
    contributions: parts.map(({ id, ticker, segment, ...part }, place) => {
      const { basis, as_of, base_as_of } = part;
      const costOf = (field: string): string | null => textOf(spent(field)[place] ?? null);
      return {
        id,
        ticker,
        segment,
        quantity: rounded(fractionOf(quantities[place] as string), 9),
        cost_usd: costOf("spot_usd"),
        cost_base_usd: costOf("base_usd"),
        cost_24h_usd: costOf("then_24h_usd"),
        cost_30d_usd: costOf("then_30d_usd"),
        ...shares[place],
        basis,
        as_of,
        base_as_of,
      };
    }),
    excluded: [],
  };
}

/** Over the parts with a base, as if the others were not bought; null: no part has one. */
function naiveLikeForLike(
  compared: readonly { readonly now: Fraction; readonly base: Fraction | null }[],
): unknown {
  let [parts, now, base] = [0, ZERO, ZERO];
  for (const part of compared) {
    if (part.base === null) continue;
    parts += 1;
    now = plus(now, part.now);
    base = plus(base, part.base);
  }
  if (parts === 0) return null;
  return {
    parts: `#${parts}`,
    cost_usd: rounded(now, 6),
    cost_base_usd: rounded(base, 6),
    level: percentOf(now, base),
  };
}

const percentOf = (part: Fraction, whole: Fraction): string =>
  rounded(over(times(part, HUNDRED), whole), 4);

const textOf = (cost: Fraction | null): string | null => cost && rounded(cost, 6);

/** The contracts of pro's basket.json: an earlier level that does not compare is null. */
export function naiveBasketFile(raw: RawMarket, sessionUtc: string): unknown[] {
  const at = Date.parse(sessionUtc);
  const { excluded } = naiveIndex(raw, sessionUtc, null);
  return onBoard(raw, at).map(({ contract: { id, ticker, segment }, levels, level }) => {
    const reason = excluded.find((item) => item.id === id)?.reason ?? null;
    const base = reason === null ? inForce(levels, yearsBefore(at, 1)) : null;
    const usdAt = (instant: number): string | null => {
      const then = inForce(levels, instant);
      return then === null || isBroken(levels, then, level) ? null : rounded(usdOf(then), 6);
    };
    return {
      id,
      ticker,
      segment,
      spot_usd: rounded(usdOf(level), 6),
      base_usd: base && rounded(usdOf(base), 6),
      then_24h_usd: usdAt(at - DAY),
      then_30d_usd: usdAt(at - 30 * DAY),
      basis: level.at === at ? level.row.basis : "carried",
      as_of: level.row.as_of,
      base_as_of: base && base.row.as_of,
      reason,
    };
  });
}
