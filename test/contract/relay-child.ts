/** A worker: takes as many calls as it is told, all at once, and tells how many were granted. */
import { openRelay } from "../../src/access/relay.ts";

const now = Date.parse("2026-11-21T09:30:00.000Z");
const gatekeeper = await openRelay(process, { now: () => now });
process.on("message", async (task: { key?: string; calls?: number; limit?: number }) => {
  if (task.key === undefined || task.calls === undefined || task.limit === undefined) return;
  const { calls, limit } = task;
  const verdict = await gatekeeper.authenticate(task.key);
  const results = await Promise.all(
    Array.from({ length: calls }, async () => gatekeeper.take("account:acme", limit, now)),
  );
  const granted = results.filter((result) => result.granted).map(({ used }) => used);
  const subject = gatekeeper.addressSubject("203.0.113.7", now);
  await gatekeeper.close();
  process.send?.({ verdict, granted, subject }, () => process.disconnect());
});
process.send?.("ready");
