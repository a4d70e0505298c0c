/** Every file of every entry of the log, asked for later: equal to the file served then, byte for byte. */
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import {
  parseSession,
  sessionStartMs,
  sessionUtc,
  type Session,
} from "../../src/market/session.ts";
import {
  FULLEST,
  KEY_TIER_NAMES,
  TIERS,
  tierSession,
  type KeyTierName,
} from "../../src/market/tier.ts";
import type { ProblemCode } from "../../src/public/problems.ts";
import { API, DATA_ROUTES } from "../../src/public/routes.ts";
import type { Received } from "./client.ts";
import { copyOf, eventually, sessionsMs, startTestProxy, TestClock } from "./fixture.ts";
import type { TestProxy, TestProxyOptions } from "./fixture.ts";
import { ask, asked, byInstant, byNumber, expectAll, expectAllRefused } from "./old-answers.ts";
import { expectCode } from "./refusal.ts";
import {
  publishInto,
  quotes,
  recordLog,
  type RecordedLog,
  type Vintage,
} from "./vintage-market.ts";

const SECOND_MS = 1_000;

let log: RecordedLog;
beforeAll(async () => {
  log = await recordLog(60);
});

let proxy: TestProxy;
afterEach(() => proxy.close());

/** A proxy over a copy of the recorded log, a minute after its end. */
async function serve(options: TestProxyOptions = {}): Promise<void> {
  const clock = new TestClock(log.endMs + 60_000);
  proxy = await startTestProxy({ store: await copyOf(log.store), clock, pollMs: 5, ...options });
}

const last = (): Vintage => log.vintages.at(-1) as Vintage;
/** Some entries of all kinds. */
const sample = (): readonly Vintage[] => log.vintages.filter((_, index) => index % 24 === 1);

/** Chooses two or three of the files, others for the next entry. */
const isTurnOf =
  ({ number }: Vintage) =>
  (at: number): boolean =>
    at % 5 === number % 5;

describe("the recorded log", () => {
  test("has rollbacks, revisions and entries of the same time", async () => {
    await serve();
    const snapshots = log.vintages.map(({ snapshot }) => snapshot);
    expect(log.vintages.length).toBeGreaterThan(70);
    expect(new Set(snapshots).size).toBeLessThan(snapshots.length);
    expect(snapshots.filter((text) => !text.endsWith("/r1")).length).toBeGreaterThan(8);
    const times = log.vintages.map(({ atMs }) => atMs);
    expect(times.filter((ms, index) => ms === times[index + 1])).toHaveLength(1);
    const statuses = log.vintages.map(({ answers }) =>
      [...answers.pro.values()].map(({ status, json }) => (status === 404 ? json.code : status)),
    );
    const seen = new Set(statuses.flat());
    const { json } = last().answers.pro.get(DATA_ROUTES.corrections.path) as Received;
    expect(json.corrections.length).toBeGreaterThan(10);
    expect(seen).toEqual(new Set([200, 308, "not_on_board", "unknown_contract"]));
  });
});

describe.each(KEY_TIER_NAMES)("%s", (tier) => {
  test("by number: every file of every entry, for ever", async () => {
    await serve();
    // The road is the same for all tiers: the fullest takes all of it.
    const which = (vintage: Vintage) => (tier === FULLEST.name ? undefined : isTurnOf(vintage));
    for (const vintage of log.vintages)
      await expectAll(proxy, tier, vintage, byNumber(vintage), which(vintage));
  });

  test("by instant: a second before, at and after each entry", async () => {
    await serve();
    for (const [index, { atMs }] of log.vintages.entries()) {
      for (const [turn, ms] of [atMs - SECOND_MS, atMs, atMs + SECOND_MS].entries()) {
        const vintage = log.vintages.findLast((entry) => entry.atMs <= ms);
        // Each instant asks for a tenth of the files; entries of ten sessions together for all.
        if (vintage !== undefined) {
          const isPast = log.vintages.some((entry) => entry.atMs > ms);
          const isAsked = (at: number): boolean => at % 10 === (index + turn * 3) % 10;
          await expectAll(proxy, tier, vintage, byInstant(ms), isAsked, isPast);
        }
      }
    }
  });

  test("before the first entry nothing was published", async () => {
    await serve();
    const first = Date.parse("2026-11-18T00:05:00.000Z");
    await expectAllRefused(proxy, tier, byInstant(first - 1), "not_published");
  });

  test("by a proxy that is late: the delay is not raised", async () => {
    await serve();
    proxy.clock.ms += sessionsMs(5);
    const path = `${API}/prices`;
    const live = await proxy.get(path, { key: proxy[tier] });
    const { delaySessions } = TIERS[tier];
    expect(live.json.delayed_sessions).toBeGreaterThan(delaySessions);
    for (const vintage of [...sample(), last()]) {
      await expectAll(proxy, tier, vintage, byNumber(vintage));
      const { headers, json } = await ask(proxy, tier, path, byInstant(vintage.atMs));
      const delayed = [headers["x-delayed-sessions"], json.delayed_sessions];
      expect(delayed).toEqual([String(delaySessions), delaySessions]);
    }
    const now = byInstant(proxy.clock.ms);
    await expectAll(proxy, tier, last(), now, undefined, false);
  });

  test("with memory for a few files only", async () => {
    await serve({ cacheBytes: 20_000 });
    for (const vintage of sample()) await expectAll(proxy, tier, vintage, byNumber(vintage));
    for (const vintage of sample()) {
      await expectAll(proxy, tier, vintage, byInstant(vintage.atMs), (at) => at % 5 === 0);
    }
  });

  test("without memory for files", async () => {
    await serve({ cacheBytes: 0 });
    for (const vintage of log.vintages) {
      await expectAll(proxy, tier, vintage, byNumber(vintage), isTurnOf(vintage));
    }
  });
});

test("pruned snapshots are 410, and the others stay", async () => {
  const store = await copyOf(log.store);
  await serve({ store });
  // What the proxy has in memory must not be served either.
  for (const vintage of sample()) await ask(proxy, "pro", `${API}/prices`, byNumber(vintage));
  const { snapshots } = await prune(store, 12, false, { now: () => log.endMs + 30_000 });
  const taken = new Set(snapshots.map(({ name }) => name));
  const isTaken = ({ snapshot }: Vintage): boolean => taken.has(snapshot);
  expect(log.vintages.filter(isTaken).length).toBeGreaterThan(20);
  await eventually(async () => {
    const first = log.vintages.find(isTaken) as Vintage;
    return (await ask(proxy, "pro", `${API}/prices`, byNumber(first))).status === 410;
  });
  const pruning = `publication=${last().number + 1}`;
  for (const tier of KEY_TIER_NAMES) {
    for (const vintage of log.vintages) {
      const parameters = [byNumber(vintage)];
      if (vintage.number % 5 === 0) {
        const newest = log.vintages.findLast(({ atMs }) => atMs === vintage.atMs);
        if (newest === vintage) parameters.push(byInstant(vintage.atMs));
      }
      for (const parameter of parameters) {
        if (isTaken(vintage)) {
          const full = asked(`${API}/prices`, parameter);
          await expectCode(proxy, full, { key: proxy[tier] }, "pruned");
          if (vintage.number % 20 === 0) await expectAllRefused(proxy, tier, parameter, "pruned");
        } else {
          await expectAll(proxy, tier, vintage, parameter, isTurnOf(vintage));
        }
      }
    }
    await expectAllRefused(proxy, tier, pruning, "not_published");
  }
});

describe("depth, measured from the head", () => {
  const BOUNDARY = "2026-12-10T00Z";

  /** Publishes a session so far ahead that BOUNDARY is the oldest that the tier may still see. */
  async function publishAhead(head: Session): Promise<void> {
    const store = await copyOf(log.store);
    const nowMs = sessionStartMs(head) + 5 * 60_000;
    await publishInto(store, head, nowMs, { quotes: quotes(1) });
    await serve({ store, clock: new TestClock(nowMs) });
  }

  async function expectDepth(
    tier: KeyTierName,
    isServed: (session: Session) => boolean,
    code: ProblemCode,
  ): Promise<void> {
    for (const vintage of log.vintages) {
      const payload = tierSession(TIERS[tier], vintage.session);
      if (isServed(payload)) {
        await expectAll(proxy, tier, vintage, byNumber(vintage), isTurnOf(vintage));
        continue;
      }
      const full = asked(`${API}/prices`, byNumber(vintage));
      const { json } = await expectCode(proxy, full, { key: proxy[tier] }, code);
      if (code === "tier_required") expect(json.required_tier).toBe("pro");
      if (vintage.number % 10 === 0) await expectAllRefused(proxy, tier, byNumber(vintage), code);
    }
    // The answer for an entry beyond the depth does not say that it is pruned.
    await expectAllRefused(proxy, tier, "publication=1", code);
  }

  test("starter: 90 days to the session, then it needs a higher tier", async () => {
    const boundary = parseSession(BOUNDARY) as Session;
    await publishAhead(boundary + 180);
    const oldest = tierSession(TIERS.starter, boundary);
    const atBoundary = log.vintages.filter(({ session }) => session === boundary);
    const before = log.vintages.filter(({ session }) => session === boundary - 1);
    expect(Math.min(atBoundary.length, before.length)).toBeGreaterThan(0);
    await expectDepth("starter", (payload) => payload >= oldest, "tier_required");
    for (const vintage of sample()) await expectAll(proxy, "pro", vintage, byNumber(vintage));
  });

  test("pro: five years to the hour, then it is not published", async () => {
    const boundary = parseSession(BOUNDARY) as Session;
    const later = sessionUtc(boundary).replace("2026-", "2031-");
    await publishAhead(parseSession(later) as Session);
    await expectDepth("pro", (payload) => payload >= boundary, "not_published");
    await expectDepth("starter", () => false, "tier_required");
  });
});
