/** The notice that the demonstration's numbers are generated. It is their attribution, and stands on every page with figures. */
export const DEMO_NOTICE = "Illustrative data: real contracts, made-up prices.";

/** Whether an attribution is the demonstration's, of this release or of 0.2.0. */
export const isOfDemo = (attribution: string): boolean =>
  attribution === DEMO_NOTICE || attribution.startsWith("Demonstration data, not market data:");
