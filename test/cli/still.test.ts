/** Feeds and contracts that stand still: they are published, and named wherever somebody looks. */
import { expect, test } from "vitest";
import { describeSnapshot } from "../../src/desk/show.ts";
import { FILES } from "../../src/store/paths.ts";
import { resultView, summaryLines, summaryMarkdown } from "../../src/publish/summary.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, headJson, tryPublish, type Run } from "./small-market.ts";

const FIRST = Date.parse("2026-11-10T00:00:00.000Z");
const sessionAt = (at: number): string =>
  new Date(FIRST + at * 12 * 3_600_000).toISOString().slice(0, 13) + "Z";

/** A store in which a and b move each session, and c and d never do; d is priced once a month. */
async function stood(sessions: number): Promise<MemoryStore> {
  const store = new MemoryStore();
  const rows = Array.from({ length: sessions }, (_, at) =>
    [`a,${at + 100}`, `b,${at + 200}`, "c,30", "d,40"].map((row) => {
      const [id, usd] = row.split(",");
      return `${id},${sessionAt(at)},${usd}`;
    }),
  );
  const quotes = ["id,session_utc,spot_usd", ...rows.flat()].join("\n");
  const catalog = catalogOf(["a", "b", "c", { id: "d", cadence_days: "31" }]);
  await run(store, { session: sessionAt(sessions - 1), catalog, quotes });
  return store;
}

async function run(store: MemoryStore, what: Run): Promise<PublishResult> {
  const { result, said } = await tryPublish(store, what);
  if (result === null) throw new Error(said.join("\n"));
  return result;
}

const levels = (ofA: number): string => `id,spot_usd\na,${ofA}\nb,${2 * ofA}\nc,30\nd,40`;

test("a contract that stands still among moving ones is named everywhere, and published", async () => {
  const store = await stood(14);
  const { movement: before } = await headJson(store, FILES.manifest);
  // After 13 sessions without a move it is not named yet.
  expect(before).toMatchObject({ given: 4, unchanged: 2, unmoved_since_utc: null, still: [] });
  const result = await run(store, { session: sessionAt(14), quotes: levels(114) });
  const still = [{ id: "c", since_utc: "2026-11-10T00:00:00.000Z", sessions: 14 }];
  expect(result.manifest.movement).toEqual({ ...before, still });
  expect(resultView(result, "s")).toMatchObject({ movement: { unchanged: 2, still } });
  const lines = summaryLines(result, "s").filter((line) => line.startsWith("Unchanged"));
  expect(lines).toEqual([
    "Unchanged  2 of 4 given levels",
    "Unchanged  standing still: 1 (c since 2026-11-10T00Z)",
  ]);
  expect(summaryMarkdown(result, "s")).toContain("| c | 2026-11-10T00:00:00.000Z | 14 |");
  const { manifest } = await describeSnapshot(store, "head");
  expect(manifest.movement?.still).toEqual(still);
  const report = String(await store.get("sessions/2026-11-17T00Z/r1/report.html"));
  expect(report).toContain('Standing still <span class="count">1</span>');
});

test("the number of sessions is an option, and is kept for a rerender", async () => {
  const store = await stood(4);
  const quotes = levels(104);
  const result = await run(store, { session: sessionAt(4), quotes, noticeStillSessions: 3 });
  expect(result.manifest.movement?.still.map(({ id }) => id)).toEqual(["c"]);
  expect(result.manifest.options["notice_still_sessions"]).toBe(3);
});

test("a feed in which nothing moves says since when, also from the first publication on", async () => {
  const store = new MemoryStore();
  const catalog = catalogOf(["a", "b"]);
  const quotes = "id,spot_usd\na,1\nb,2";
  const found: (string | null | undefined)[] = [];
  for (let at = 0; at < 4; at += 1) {
    const first = at === 0 ? { catalog } : {};
    const { manifest } = await run(store, { session: sessionAt(at), quotes, ...first });
    found.push(manifest.movement?.unmoved_since_utc);
  }
  const since = "2026-11-10T00:00:00.000Z";
  expect(found).toEqual([null, since, since, since]);
  const late = await tryPublish(store, {
    session: sessionAt(4),
    quotes,
    maxUnchangedSessions: 3,
  });
  expect([late.code, late.said.join()]).toEqual([3, expect.stringContaining("2026-11-10T00Z")]);
});
