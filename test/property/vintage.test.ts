/**
 * Which entry of the log a request means, and whether the tier may have it: on random logs, compared
 * with a naive reading of the contract.
 */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { instantText } from "../../src/lib/clock.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import { KEY_TIER_NAMES, TIERS, tierSession, type KeyTierName } from "../../src/market/tier.ts";
import type { Fault } from "../../src/public/query.ts";
import { LogReader } from "../../src/served/log-reader.ts";
import {
  depthDenial,
  findVintage,
  historyDenial,
  readVintage,
} from "../../src/core/find/vintage.ts";
import { isPublication, type Entry, type Publication } from "../../src/snapshot/log/entry.ts";
import { renderEntry } from "../../src/snapshot/log/entry-bytes.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { publicationKey, snapshotText } from "../../src/store/paths.ts";
import { runs } from "./runs.ts";

const FIRST = parseSession("2024-02-28T12Z") as Session;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** What happens next, with the publisher's clock: how far it goes on, or back if it is slow. */
interface Step {
  readonly action: "publish" | "rollback" | "prune";
  /** Sessions after the newest one; 0: a revision of it. */
  readonly gap: number;
  /** Chooses the snapshots that a rollback or a prune names. */
  readonly choice: number;
  readonly clockMs: number;
}

const gap = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 1, 1, 2) },
  { weight: 2, arbitrary: fc.integer({ min: 170, max: 190 }) },
  // Five years have 3,652 or 3,654 sessions.
  { weight: 1, arbitrary: fc.integer({ min: 3_640, max: 3_660 }) },
);
const step: fc.Arbitrary<Step> = fc.record({
  action: fc.constantFrom("publish", "publish", "publish", "rollback", "prune"),
  gap,
  choice: fc.nat(),
  clockMs: fc.constantFrom(0, 1, -MINUTE_MS, MINUTE_MS, DAY_MS / 2, 20 * DAY_MS),
});

/** The entries that the steps append. */
function logOf(steps: readonly Step[]): Entry[] {
  const log: Entry[] = [];
  const published: Publication[] = [];
  const taken = new Set<string>();
  let newest: Session = FIRST;
  let revision = 0;
  let clockMs = sessionStartMs(FIRST);
  for (const { action, gap: sessions, choice, clockMs: moved } of steps) {
    clockMs = Math.max(clockMs, sessionStartMs(newest + sessions)) + moved;
    const before = Date.parse(log.at(-1)?.at ?? instantText(0));
    const [last] = log.slice(-1);
    const previous = last === undefined ? null : sha256Hex(renderEntry(last));
    const at = instantText(Math.max(clockMs, before));
    const shared = { number: log.length + 1, at, previous };
    const there = published.filter((entry) => !taken.has(snapshotText(entry)));
    const old = there[choice % Math.max(1, there.length)];
    const heads = published.slice(-2).map(snapshotText);
    if (action === "prune" && old !== undefined) {
      const names = there.map(snapshotText).filter((text, at) => (choice >> (at % 16)) % 2 === 1);
      const snapshots = [...new Set(names)].filter((text) => !heads.includes(text));
      snapshots.forEach((text) => taken.add(text));
      log.push({ ...shared, action, snapshots, parts: [] });
      continue;
    }
    const isRollback = action === "rollback" && old !== undefined;
    if (!isRollback) {
      revision = sessions === 0 ? revision + 1 : 1;
      newest += sessions;
    }
    const name = isRollback ? old : { session: newest, revision };
    const entry: Publication = {
      ...shared,
      action: isRollback ? "rollback" : "publish",
      session: name.session,
      revision: name.revision,
      reason: null,
      manifest_sha256: "0".repeat(64),
      corrections: 0,
      roots: { free: null, starter: null, pro: null },
    };
    log.push(entry);
    published.push(entry);
  }
  return log;
}

const log = fc.array(step, { minLength: 1, maxLength: 30 }).map(logOf);

/** A parameter as sent, with its meaning; null: it is malformed. */
type Asked =
  | { readonly name: "publication"; readonly text: string; readonly number: number | null }
  | { readonly name: "as_of"; readonly text: string; readonly ms: number | null }
  /** A date alone. */
  | { readonly name: "as_of"; readonly text: string; readonly dayMs: number }
  | { readonly name: "session"; readonly text: string; readonly payloadMs: number | null };

const numbers: fc.Arbitrary<Asked> = fc.oneof(
  fc
    .integer({ min: 1, max: 35 })
    .map((number) => ({ name: "publication" as const, text: String(number), number })),
  fc
    .oneof(
      fc.constantFrom("", "0", "-1", "01", "1.0", "1e1", " 1", "1 ", "+1", "0x1", "Infinity"),
      fc.constantFrom("100000000000000000000", "12345678901", "١", "1,2", "null"),
    )
    .map((text) => ({ name: "publication" as const, text, number: null })),
);

/** The instant as a clock with this offset writes it. */
function written(ms: number, offsetMinutes: number, isSpace: boolean): string {
  const local = instantText(ms + offsetMinutes * MINUTE_MS).slice(0, -1);
  if (offsetMinutes === 0) return `${local}Z`;
  const size = Math.abs(offsetMinutes);
  const hours = String(Math.floor(size / 60)).padStart(2, "0");
  const sign = offsetMinutes < 0 ? "-" : isSpace ? " " : "+";
  return `${local}${sign}${hours}:${String(size % 60).padStart(2, "0")}`;
}

/** Instants around an entry of the log. */
const instants = (entries: readonly Entry[]): fc.Arbitrary<Asked> =>
  fc
    .record({
      near: fc.constantFrom(...entries.map(({ at }) => Date.parse(at))),
      off: fc.constantFrom(0, 0, -1, 1, 1_000, -1_000, -DAY_MS, DAY_MS),
      offsetMinutes: fc.constantFrom(0, 60, -330, 840),
      isSpace: fc.boolean(),
      damage: fc.constantFrom("", "", "", "", "", "x", "Z", "[UTC]"),
    })
    .map(({ near, off, offsetMinutes, isSpace, damage }) => ({
      name: "as_of",
      text: `${written(near + off, offsetMinutes, isSpace)}${damage}`,
      ms: damage === "" ? near + off : null,
    }));

/** Dates around an entry of the log. */
const days = (entries: readonly Entry[]): fc.Arbitrary<Asked> =>
  fc
    .record({
      near: fc.constantFrom(...entries.map(({ at }) => Date.parse(at))),
      off: fc.constantFrom(0, 0, 0, -DAY_MS, DAY_MS, 30 * DAY_MS),
    })
    .map(({ near, off }) => {
      const text = instantText(near + off).slice(0, 10);
      return { name: "as_of", text, dayMs: Date.parse(text) };
    });

/** No dates. Others that are none are in the tests of the parameters. */
const strangeDays: fc.Arbitrary<Asked> = fc
  .constantFrom(
    ..."2026-02-30|2025-02-29|2024-02-30|2026-11-31|2024-13-01|2024-00-01|2024-03-00".split("|"),
  )
  .map((text) => ({ name: "as_of", text, ms: null }));

/** Sessions around the log's. */
const sessions = (entries: readonly Entry[]): fc.Arbitrary<Asked> =>
  fc
    .record({
      near: fc.constantFrom(FIRST, ...entries.filter(isPublication).map(({ session }) => session)),
      off: fc.constantFrom(0, 0, 0, -1, -1, 1, 2, 180),
      isLong: fc.boolean(),
      damage: fc.constantFrom("", "", "", "", "", "", "x", " ", "Z"),
    })
    .map(({ near, off, isLong, damage }) => {
      const payloadMs = sessionStartMs(near + off);
      const long = instantText(payloadMs);
      const text = isLong ? long : long.replace(":00:00.000", "");
      return {
        name: "session",
        text: `${text}${damage}`,
        payloadMs: damage === "" ? payloadMs : null,
      };
    });

/** No sessions. */
const strangeSessions: fc.Arbitrary<Asked> = fc
  .constantFrom(
    ..."|1|head|2026-11-25|2026-11-25T12|2026-11-25T06Z|2026-11-25T12:00Z|2026-11-25T12:00:00Z|2026-02-30T00Z|1899-12-31T12Z|2026-11-25t12z|2026-11-25T12+00:00".split(
      "|",
    ),
  )
  .map((text) => ({ name: "session", text, payloadMs: null }));

interface Case {
  readonly entries: readonly Entry[];
  readonly asked: readonly Asked[];
  readonly nowMs: number;
}

const cases: fc.Arbitrary<Case> = log.chain((entries) =>
  fc.record({
    entries: fc.constant(entries),
    asked: fc.array(
      fc.oneof(
        numbers,
        instants(entries),
        days(entries),
        strangeDays,
        { weight: 2, arbitrary: sessions(entries) },
        strangeSessions,
      ),
      { minLength: 30, maxLength: 30 },
    ),
    // A proxy whose clock is behind the publisher's refuses instants that are in its future.
    nowMs: fc
      .constantFrom(-DAY_MS, 0, 1, DAY_MS, 30 * DAY_MS)
      .map((ms) => Date.parse(entries.at(-1)?.at ?? "") + ms),
  }),
);

/** What the contract says: a refusal's code, or the entry and whether it is that one for ever. */
type Verdict = string | { readonly number: number; readonly lasts: boolean };

const oldestMs: Readonly<Record<KeyTierName, (newestMs: number) => number>> = {
  starter: (newestMs) => newestMs - 90 * DAY_MS,
  pro: (newestMs) => {
    const date = new Date(newestMs);
    const day = date.getUTCDate();
    date.setUTCFullYear(date.getUTCFullYear() - 5);
    // 29 February of a year that has none is the 28th.
    return date.getUTCDate() === day ? date.getTime() : date.getTime() - DAY_MS;
  },
};

/** The instant that `as_of` means; null: it is malformed, or in the future. A date means its end, today's now. */
function instantOf(asked: Asked & { name: "as_of" }, nowMs: number): number | null {
  if ("dayMs" in asked) {
    const isToday = asked.dayMs <= nowMs && nowMs < asked.dayMs + DAY_MS;
    const ms = isToday ? nowMs : asked.dayMs + DAY_MS - 1;
    return ms > nowMs ? null : ms;
  }
  return asked.ms === null || asked.ms > nowMs ? null : asked.ms;
}

const delayMsOf = (tier: KeyTierName): number => (tier === "pro" ? 0 : DAY_MS / 2);

function verdictOf(tier: KeyTierName, asked: Asked, { entries, nowMs }: Case): Verdict {
  let meant: Entry | undefined;
  let lasts = true;
  if (asked.name === "publication") {
    if (asked.number === null) return "invalid_parameter";
    meant = entries.find(({ number }) => number === asked.number);
    if (meant?.action === "prune") return "not_published";
  } else if (asked.name === "session") {
    const { payloadMs } = asked;
    if (payloadMs === null) return "invalid_parameter";
    for (const entry of entries) {
      if (entry.action === "prune") continue;
      if (sessionStartMs(entry.session) - delayMsOf(tier) === payloadMs) meant = entry;
    }
    lasts = false;
  } else {
    const ms = instantOf(asked, nowMs);
    if (ms === null) return "invalid_parameter";
    for (const entry of entries) {
      if (entry.action !== "prune" && Date.parse(entry.at) <= ms) meant = entry;
    }
    const isNow = "dayMs" in asked && ms < asked.dayMs + DAY_MS - 1;
    lasts = !isNow && entries.some(({ at }) => Date.parse(at) > ms);
  }
  if (meant === undefined || meant.action === "prune") return "not_published";
  const head = entries.findLast(isPublication) as Publication;
  const delayMs = delayMsOf(tier);
  const payloadMs = sessionStartMs(meant.session) - delayMs;
  if (payloadMs < oldestMs[tier](sessionStartMs(head.session) - delayMs)) {
    return tier === "starter" ? "tier_required" : "not_published";
  }
  const name = snapshotText(meant);
  for (const entry of entries) {
    if (entry.action === "prune" && entry.snapshots.includes(name)) return "pruned";
  }
  return { number: meant.number, lasts };
}

/** What the proxy finds, in the order of its checks. */
function found(
  tier: KeyTierName,
  { name, text }: Asked,
  { entries, nowMs }: Case,
  index: LogReader,
): Verdict {
  const faults: Fault[] = [];
  const wanted = readVintage([[name, text]], nowMs, faults);
  if (wanted === null) return faults[0]?.code ?? "no fault";
  const vintage = findVintage(wanted, index, TIERS[tier]);
  if ("code" in vintage) return vintage.code;
  const head = entries.findLast(isPublication) as Publication;
  const tooOld = depthDenial(vintage, TIERS[tier], head.session);
  if (tooOld !== null) return tooOld.code;
  const { publication, isSettled } = vintage;
  if (index.isPruned(publication)) return "pruned";
  expect(publication).toEqual(entries[publication.number - 1]);
  return { number: publication.number, lasts: isSettled };
}

async function readerOf(entries: readonly Entry[]): Promise<LogReader> {
  const store = new MemoryStore();
  for (const entry of entries) {
    await store.create(publicationKey(entry.number), renderEntry(entry));
  }
  const reader = new LogReader(store, null);
  expect(await reader.follow()).toBeNull();
  return reader;
}

test.prop([cases], runs(1_500))("as the contract says", async (given) => {
  const { entries, asked } = given;
  const index = await readerOf(entries);
  for (const parameter of asked) {
    for (const tier of KEY_TIER_NAMES) {
      const verdict = verdictOf(tier, parameter, given);
      const answer = found(tier, parameter, given, index);
      expect([tier, parameter.text, answer]).toEqual([tier, parameter.text, verdict]);
    }
  }
});

test.prop([cases], runs(1_500))("nobody reaches data beyond the tier", async (given) => {
  const { entries, asked } = given;
  const index = await readerOf(entries);
  const head = entries.findLast(isPublication) as Publication;
  for (const parameter of asked) {
    for (const tier of KEY_TIER_NAMES) {
      const answer = found(tier, parameter, given, index);
      if (typeof answer === "string") continue;
      const entry = entries[answer.number - 1] as Publication;
      const payload = tierSession(TIERS[tier], entry.session);
      const newest = tierSession(TIERS[tier], head.session);
      const ageDays = (sessionStartMs(newest) - sessionStartMs(payload)) / DAY_MS;
      expect(ageDays).toBeLessThanOrEqual(tier === "starter" ? 90 : 1_827);
      if (parameter.name === "publication") continue;
      if (parameter.name === "session") {
        expect(sessionStartMs(payload)).toBe(parameter.payloadMs);
        continue;
      }
      // At that instant the entry was the head: the tier could have had this payload then.
      const instant = instantOf(parameter, given.nowMs) as number;
      const then = entries.filter(({ at }) => Date.parse(at) <= instant);
      expect(then.findLast(isPublication)?.number).toBe(entry.number);
    }
  }
});

const endings = fc.record({
  session: fc.integer({ min: FIRST, max: FIRST + 4_000 }),
  /** Days before the session at which the dates asked for end: around 90 days and five years. */
  back: fc.oneof(
    fc.integer({ min: 85, max: 95 }),
    fc.integer({ min: 1_822, max: 1_832 }),
    fc.integer({ min: -10, max: 4_000 }),
  ),
  ofPro: fc.constantFrom("0".repeat(64), null, undefined),
});

test.prop([endings], runs(1_500))(
  "dates that end before the tier's history belong to a fuller tier, if the snapshot has it",
  ({ session, back, ofPro }) => {
    const dateOf = (ms: number): string => instantText(ms).slice(0, 10);
    const to = dateOf(sessionStartMs(session) - back * DAY_MS);
    const firstOf = (tier: KeyTierName): string => {
      const today = Date.parse(dateOf(sessionStartMs(session) - delayMsOf(tier)));
      return dateOf(oldestMs[tier](today) + DAY_MS);
    };
    const roots = {
      free: null,
      starter: "1".repeat(64),
      ...(ofPro !== undefined && { pro: ofPro }),
    };
    const [entry] = logOf([{ action: "publish", gap: 0, choice: 0, clockMs: 0 }]) as [Publication];
    const publication: Publication = { ...entry, session, roots };
    const isPros = to < firstOf("starter") && to >= firstOf("pro") && ofPro != null;
    expect(historyDenial(to, TIERS.starter, publication)?.extras).toEqual(
      isPros ? { required_tier: "pro", history_from: firstOf("starter") } : undefined,
    );
    for (const [none, tier] of [
      [to, TIERS.pro],
      [to, TIERS.free],
      [null, TIERS.starter],
    ] as const) {
      expect(historyDenial(none, tier, publication)).toBeNull();
    }
  },
);
