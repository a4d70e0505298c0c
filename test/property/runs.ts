/** How many cases each property is tried with. Also the setup of the projects with properties (vitest.config.ts). */
import fc from "fast-check";

/** Of the counts that the tests name. `npm run test:long` sets 1. */
const FACTOR = Number(process.env["CHIPBOARD_TEST_RUNS"] ?? "0.1");
if (!(FACTOR > 0)) throw new Error("CHIPBOARD_TEST_RUNS: expected a factor such as 0.1 or 1");

/**
 * A long run searches for the smallest case that fails, which can take many minutes. The others show the first one at
 * once.
 */
const endOnFailure = FACTOR < 1;

/** The parameters of a property that has `full` cases in a long run. */
export const runs = (full: number): { readonly numRuns: number } => ({
  numRuns: Math.max(1, Math.round(full * FACTOR)),
});

/** fast-check's own count is 100. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), ...runs(100), endOnFailure });
