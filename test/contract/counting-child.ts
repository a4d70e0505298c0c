/** Counts calls of "acme" as fast as it can, and tells how many; to be killed. */
import { openGatekeeper } from "../../src/state/open.ts";

const now = Date.parse("2026-11-21T09:30:00.000Z");
const gatekeeper = await openGatekeeper(process.argv[2] as string, { now: () => now });
process.send?.("ready");
setInterval(async () => {
  for (let call = 0; call < 20; call++) await gatekeeper.take("account:acme", null, now);
  process.send?.(await gatekeeper.used("account:acme", now));
}, 5);
