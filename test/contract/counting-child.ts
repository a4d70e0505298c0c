/**
 * A process that counts calls of a subject in the state it is given. It takes calls with so many callers
 * at once until one is refused, and prints each granted call immediately.
 */
import type { Subject } from "../../src/ports/state.ts";
import { openAccounts } from "../../src/state/open.ts";

const [location, subject, callers, limit] = process.argv.slice(2) as [
  string,
  Subject,
  string,
  string,
];
const now = Date.parse("2026-11-21T09:30:00.000Z");
const accounts = await openAccounts(location, { now: () => now });
process.send?.("ready");
process.once("message", async () => {
  const calling = Array.from({ length: Number(callers) }, async () => {
    for (;;) {
      const { granted, used } = await accounts.counts.take(subject, Number(limit), now);
      if (!granted) return;
      process.send?.(used);
    }
  });
  await Promise.all(calling);
  await accounts.close();
  // After all earlier output.
  process.send?.("end", () => process.disconnect());
});
