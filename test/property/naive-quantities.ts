/** The second calculation of a basket of quantities: what each costs by its own levels. */
import { fractionOf, plus, rounded, times, ZERO, type Fraction } from "./naive-fraction.ts";
import {
  DAY,
  inForce,
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
