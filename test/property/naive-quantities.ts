/** The second calculation of a basket of quantities, and of what all baskets are priced from. */
import { fractionOf, plus, rounded, times, ZERO, type Fraction } from "./naive-fraction.ts";
import {
  DAY,
  inForce,
  isBroken,
  onBoard,
  usdOf,
  yearsBefore,
  type Level,
  type RawMarket,
} from "./naive-levels.ts";
import { naiveIndex, type NaiveIndex } from "./naive-market.ts";

/** A basket of quantities, with its fields in the order of the body. Every pick must be a constituent. */
export function naiveQuantities(
  raw: RawMarket,
  sessionUtc: string,
  picks: readonly string[],
  quantities: readonly string[],
): NaiveIndex {
  const at = Date.parse(sessionUtc);
  const board = onBoard(raw, at);
  const spentAt = (instant: number): Fraction[] =>
    picks.map((pick, place) => {
      const levels = board.find(({ contract }) => contract.id === pick)?.levels ?? [];
      const level = usdOf(inForce(levels, instant) as Level);
      return times(fractionOf(quantities[place] as string), level);
    });
  const cost = (instant: number): string => rounded(spentAt(instant).reduce(plus, ZERO), 6);

  // Quantity and level have 15 decimals together, so this text is exact.
  const weights = spentAt(yearsBefore(at, 1)).map((spent) => rounded(spent, 15).slice(1));
  const { constituents, carried, contributions, excluded, ...figures } = naiveIndex(
    raw,
    sessionUtc,
    picks,
    weights,
  );
  const costs = {
    cost_usd: cost(at),
    cost_base_usd: cost(yearsBefore(at, 1)),
    cost_24h_usd: cost(at - DAY),
    cost_30d_usd: cost(at - 30 * DAY),
  };
  const withQuantities = contributions.map(({ id, ticker, segment, ...rest }, place) => {
    const quantity = rounded(fractionOf(quantities[place] as string), 9);
    return { id, ticker, segment, quantity, ...rest } as Record<string, string>;
  });
  return {
    ...figures,
    ...costs,
    constituents,
    carried,
    contributions: withQuantities,
    excluded,
  };
}

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
