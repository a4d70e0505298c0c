/** The status of sessions: published, late, missed, revised, rolled back. */
import { describe, expect, test } from "vitest";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import { makeStatus, statusTickMs } from "../../src/core/publications/session-status.ts";
import { publishOf, rollbackTo } from "./publications.ts";

const GRACE_MS = 3_600_000;

interface Row {
  readonly session_utc: string;
  readonly published_at: string | null;
  readonly minutes_late: number | null;
  readonly missed: boolean;
  readonly revised: boolean;
  readonly rolled_back: boolean;
  readonly snapshot: string | null;
}

const statusAt = (publications: readonly Publication[], now: string, graceMs = GRACE_MS) =>
  makeStatus({ publications, overdue: 0, graceMs }, Date.parse(now));

/** One line a session, newest first: `21T00 +5 r1 revised`. */
const linesAt = (publications: readonly Publication[], now: string, graceMs = GRACE_MS): string[] =>
  (statusAt(publications, now, graceMs).sessions as Row[]).map((row) =>
    [
      row.session_utc.slice(8, 13),
      ...(row.minutes_late === null ? [] : [`+${row.minutes_late}`]),
      ...(row.snapshot === null ? [] : [row.snapshot.replace(/^.*\//, "")]),
      ...(["missed", "revised", "rolled_back"] as const).filter((name) => row[name]),
    ].join(" "),
  );

const A = publishOf(1, "2026-11-20T00Z");
const B = publishOf(2, "2026-11-20T12Z", 1, null, 90);
const C = publishOf(3, "2026-11-21T00Z");

test("the head, the next session and a row for each session since the first", () => {
  const status = statusAt([A, B, C], "2026-11-21T00:10:00Z");
  expect(status).toMatchObject({
    head: {
      publication: 3,
      snapshot: "2026-11-21T00Z/r1",
      session_utc: "2026-11-21T00:00:00.000Z",
      revision: 1,
      published_at: "2026-11-21T00:05:00.000Z",
    },
    next_session_utc: "2026-11-21T12:00:00.000Z",
  });
  expect(status.sessions).toHaveLength(3);
  expect(status.sessions[1]).toEqual({
    session_utc: "2026-11-20T12:00:00.000Z",
    published_at: "2026-11-20T13:30:00.000Z",
    minutes_late: 90,
    missed: false,
    revised: false,
    rolled_back: false,
    snapshot: "2026-11-20T12Z/r1",
  });
});

test("nothing is published", () => {
  expect(statusAt([], "2026-11-21T00:10:00Z")).toEqual({
    head: null,
    overdue: 0,
    next_session_utc: null,
    sessions: [],
  });
});

describe("missed sessions", () => {
  test("the present one counts as missed once its grace is over, earlier ones do", () => {
    const log = [A];
    expect(linesAt(log, "2026-11-20T11:59:59.999Z")).toEqual(["20T00 +5 r1"]);
    expect(linesAt(log, "2026-11-20T12:59:59.999Z")).toEqual(["20T12", "20T00 +5 r1"]);
    expect(linesAt(log, "2026-11-20T13:00:00Z")).toEqual(["20T12 missed", "20T00 +5 r1"]);
    const later = linesAt(log, "2026-11-21T00:00:00Z");
    expect(later).toEqual(["21T00", "20T12 missed", "20T00 +5 r1"]);
  });

  test("one is missed at once when a later one is published", () => {
    const log = [A, publishOf(2, "2026-11-21T00Z")];
    const day = 24 * 3_600_000;
    expect(linesAt(log, "2026-11-21T00:10:00Z", day)).toEqual([
      "21T00 +5 r1",
      "20T12 missed",
      "20T00 +5 r1",
    ]);
  });

  test("a session that is published late is not missed any more", () => {
    const log = [A, publishOf(2, "2026-11-20T12Z", 1, null, 700.26)];
    expect(linesAt(log, "2026-11-20T23:50:00Z")).toEqual(["20T12 +700.3 r1", "20T00 +5 r1"]);
  });

  test("a clock behind the publisher's: the head is listed", () => {
    expect(linesAt([A, B], "2026-11-20T11:00:00Z")).toEqual(["20T12 +90 r1", "20T00 +5 r1"]);
  });
});

describe("revisions and rollbacks", () => {
  const NOW = "2026-11-21T00:30:00Z";

  test("a revision keeps the time of the first publish, and its own snapshot stands", () => {
    const revised = publishOf(4, "2026-11-21T00Z", 2, "Restated", 20);
    expect(linesAt([A, B, C, revised], NOW)).toEqual([
      "21T00 +5 r2 revised",
      "20T12 +90 r1",
      "20T00 +5 r1",
    ]);
  });

  test("a rollback takes back all later sessions, and they are not missed", () => {
    expect(linesAt([A, B, C, rollbackTo(4, A, C)], NOW)).toEqual([
      "21T00 +5 rolled_back",
      "20T12 +90 rolled_back",
      "20T00 +5 r1",
    ]);
  });

  test("a rollback to an earlier revision of the same session takes no session back", () => {
    const revised = publishOf(4, "2026-11-21T00Z", 2, "Restated", 20);
    const log = [A, B, C, revised, rollbackTo(5, C, revised)];
    expect(linesAt(log, NOW)[0]).toBe("21T00 +5 r1 revised");
  });

  test("a snapshot published again after a rollback stands; one that was passed over does not", () => {
    const again = publishOf(5, "2026-11-21T00Z", 2, "The right feed", 25);
    expect(linesAt([A, B, C, rollbackTo(4, A, C), again], NOW)).toEqual([
      "21T00 +5 r2 revised",
      "20T12 +90 rolled_back",
      "20T00 +5 r1",
    ]);
  });

  test("a rollback forward brings back what its snapshot was published upon", () => {
    const back = rollbackTo(4, A, C);
    expect(linesAt([A, B, C, back, rollbackTo(5, C, back)], NOW)).toEqual([
      "21T00 +5 r1",
      "20T12 +90 r1",
      "20T00 +5 r1",
    ]);
  });

  test("a log in which a name is published twice is no endless circle", () => {
    const log = [A, B, { ...A, number: 3 }, { ...B, number: 4 }];
    expect(linesAt(log, "2026-11-20T13:30:00Z")).toHaveLength(2);
  });
});

test("there are at most 60 rows, newest first", () => {
  const log = [publishOf(1, "2026-06-01T00Z"), publishOf(2, "2026-11-21T00Z")];
  const rows = statusAt(log, "2026-11-21T00:30:00Z").sessions as Row[];
  expect(rows).toHaveLength(60);
  expect(rows[0]?.session_utc).toBe("2026-11-21T00:00:00.000Z");
  expect(rows[59]?.session_utc).toBe("2026-10-22T12:00:00.000Z");
  expect(rows.filter(({ missed }) => missed)).toHaveLength(59);
});

test("the body changes only when statusTickMs does", () => {
  for (const graceMs of [0, 1, GRACE_MS, 12 * GRACE_MS, 30 * GRACE_MS]) {
    const seen = new Map<number, string>();
    for (let minutes = 0; minutes < 3 * 24 * 60; minutes += 7) {
      const nowMs = Date.parse("2026-11-21T00:10:00Z") + minutes * 60_000;
      const tickMs = statusTickMs(nowMs, graceMs);
      const body = JSON.stringify(
        makeStatus({ publications: [A, B, C], overdue: 0, graceMs }, nowMs),
      );
      expect(tickMs).toBeLessThanOrEqual(nowMs);
      expect(seen.get(tickMs) ?? body).toBe(body);
      seen.set(tickMs, body);
    }
    expect(seen.size).toBeGreaterThan(5);
  }
});
