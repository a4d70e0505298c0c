/** A proxy whose clock jumps by a day, over the end of a month too. */
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  SESSION_MS,
  parseSession,
  sessionStartMs,
  type Session,
} from "../../src/market/session.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { publishSession } from "./disk-market.ts";
import { GRACE_MS, LIMIT, makeState, startStatedProxy, storedCalls } from "./disk-proxy.ts";
import type { StatedProxy } from "./disk-proxy.ts";
import { FeedRandom } from "./feed-random.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const DAY_MS = 24 * 3_600_000;
/** A starter sees the session before the head's. */
const TIER_DELAY = 1;
const FIRST = parseSession("2026-11-29T00Z") as Session;

export async function serveByJumpingClock({
  scale,
  seed,
  folder,
  say,
}: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("clock jumps by a day, serving", say);
  const random = new FeedRandom(seed, "serving");
  const store = new MemoryStore();
  for (const session of [FIRST, FIRST + 1])
    assert.equal((await publishSession(store, session)).code, 0);
  const head = FIRST + 1;
  const clock = { ms: sessionStartMs(head) + 600_000, now: () => clock.ms };
  const state = join(folder, "clock-state");
  const key = await makeState(state, clock);
  const calls = new Map<string, number>();
  let proxy = await startStatedProxy(store, state, key, clock);
  try {
    for (let step = 0; step < { short: 60, full: 600 }[scale]; step += 1) {
      // Never so far back that the key was not made yet, nor a year on: counts are kept for longer.
      const days = clock.ms < sessionStartMs(head) ? 1 : random.pick([-1, 1, 1, -1, 0, 3, -3]);
      clock.ms += days * DAY_MS + random.below(3_600_000);
      await tally.throw(`seed ${seed}, step ${step}, by ${days} days`, async () => {
        await requireFreshAnswer(proxy, clock.ms, head, calls);
      });
      if (random.oneIn(50)) {
        await proxy.close();
        proxy = await startStatedProxy(store, state, key, clock);
      }
    }
  } finally {
    await proxy.close();
  }
  for (const [month, used] of calls) {
    await tally.throw(`the calls of ${month}, afterwards`, async () => {
      clock.ms = Date.parse(`${month}-15T00:00:00Z`);
      assert.equal(await storedCalls(state, clock), used);
    });
  }
  return tally.row;
}

/** One call: answered as of this instant, and counted in its month. */
async function requireFreshAnswer(
  proxy: StatedProxy,
  nowMs: number,
  head: Session,
  calls: Map<string, number>,
): Promise<void> {
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const { status, headers, json } = await proxy.get("/prices");
  assert.equal(status, 200);
  const used = (calls.get(month) ?? 0) + 1;
  calls.set(month, used);
  assert.equal(headers.get("x-ratelimit-remaining"), String(LIMIT - used));

  const late = Math.max(0, Math.floor((nowMs - sessionStartMs(head) - GRACE_MS) / SESSION_MS));
  assert.equal(json.delayed_sessions, TIER_DELAY + late);
  assert.equal(headers.get("x-delayed-sessions"), String(TIER_DELAY + late));
  const maxAge = Number(/^private, max-age=(\d+)$/.exec(headers.get("cache-control") ?? "")?.[1]);
  assert.ok(maxAge >= 0 && maxAge <= 60, headers.get("cache-control") ?? "no cache-control");
  // What it says must hold until then: the next session is due, or one more is found missing.
  for (const from of [sessionStartMs(head), sessionStartMs(head) + GRACE_MS]) {
    const changes = from + Math.max(1, Math.floor((nowMs - from) / SESSION_MS) + 1) * SESSION_MS;
    assert.ok(nowMs + maxAge * 1_000 <= changes, `max-age ${maxAge} goes past the next change`);
  }

  const usage = (await proxy.get("/usage")).json;
  const [year, number] = month.split("-").map(Number) as [number, number];
  const resetsAt = new Date(Date.UTC(year, number, 1)).toISOString();
  assert.deepEqual([usage.used, usage.remaining, usage.resets_at], [used, LIMIT - used, resetsAt]);
}
