/** The notice and the plans of the demonstration. */
import { fileURLToPath } from "node:url";

/** Prices and places of the plans, as `--plans` reads them. The places are of a reserved domain. */
export const DEMO_PLANS = fileURLToPath(new URL("./plans.json", import.meta.url));

/** The notice that the demonstration's numbers are generated. It is their attribution, and stands on every page with figures. */
export const DEMO_NOTICE = "Illustrative data: real contracts, made-up prices.";

/** Whether an attribution is the demonstration's, of this release or of 0.2.0. */
export const isOfDemo = (attribution: string): boolean =>
  attribution === DEMO_NOTICE || attribution.startsWith("Demonstration data, not market data:");
