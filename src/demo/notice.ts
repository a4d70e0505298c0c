/**
 * The sentence that says what the demonstration's numbers are. It is their attribution; the README and
 * the documentation page say the same.
 */
export const DEMO_NOTICE =
  "Demonstration data, not market data: the contracts are real products with tickers of our own " +
  "coinage, but every price, and whatever happens to one, is illustrative, generated from a fixed " +
  "seed around a level once published.";
