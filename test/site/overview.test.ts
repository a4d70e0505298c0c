/** The part above the board: the indices, and the largest moves. */
import { describe, expect, test } from "vitest";
import { coverageLine, type Board, type BoardRow } from "../../src/site/board.js";
import { overdueBy } from "../../src/site/overdue.js";
import { contractLine, movesHtml, overviewTable, pointsOf } from "../../src/site/overview.js";

const index = (name: string) => ({
  id: name.toLowerCase(),
  name,
  series_date: "2026-11-21",
});
const COMPOSITE = index("composite");

test("a row of the indices has the changes from close to close, over whole ranges alone", () => {
  const closes = [80, ...Array<number>(29).fill(100), 90];
  const lines = new Map([["composite", { id: "composite", closes }]]);
  const html = overviewTable([COMPOSITE, index("A")], lines);
  expect(html).toContain("30 d %");
  expect(html).toContain("+12.50");
  expect(html).toContain("\u{2212}10.00");
  const short = new Map([["composite", { id: "composite", closes: closes.slice(1) }]]);
  expect(overviewTable([COMPOSITE], short)).toContain("n/a");
});

test("of many indices the first are listed, with the way to all", () => {
  const many = [COMPOSITE, ...Array.from({ length: 20 }, (_, at) => index(`S${at}`))];
  const html = overviewTable(many, new Map());
  expect(html.match(/<tr data-id=/g)).toHaveLength(8);
  expect(html).toContain('<a href="indices">All 21 indices</a>');
});

const row = (id: string, chg_24h_pct: number | null, name = id): BoardRow => ({
  id,
  name,
  ticker: name,
  segment: name,
  unit: name,
  source: name,
  spot_usd: 1,
  chg_24h_pct,
  chg_30d_pct: null,
  chg_90d_pct: null,
  chg_yoy_pct: null,
  basis: "reported",
  as_of: "2026-11-21",
  break: null,
});
const BOARD: Board = {
  session_utc: "2026-11-29T12:00:00.000Z",
  next_session_utc: "2026-11-30T00:00:00.000Z",
  delayed_sessions: 0,
  attribution: "",
  license: "",
  counts: { memory: 1, semiconductor: 0 },
  memory: [],
  semiconductor: [],
};
const idsIn = (html: string): string[] =>
  [...html.matchAll(/data-id="([^"]*)"/g)].map(([, id]) => id as string);

describe("the largest moves", () => {
  test("are three up and three down, equal ones in the order of the boards", () => {
    const memory = [1, 0, 3, null, 2, 3, 1, 1, 1].map((change, at) => row(`m${at}`, change));
    const semiconductor = [-0.5, 4, -2, 1].map((change, at) => row(`s${at}`, change));
    const html = movesHtml({ memory, semiconductor });
    expect(idsIn(html)).toEqual(["s1", "m2", "m5", "s2", "s0"]);
    expect(html).toContain("+4.00");
  });

  test("are a sentence where the lists would be the board again", () => {
    const html = movesHtml({
      memory: [1, 3, -2].map((at) => row(`m${at}`, at)),
      semiconductor: [row("flat", 0), row("new", null)],
    });
    expect(html.replaceAll(/<[^>]*>/g, "").replaceAll(/[\u2068\u2069]/g, "")).toBe(
      "Last 24 hours: 2 up, 1 down, 1 unchanged, 1 without a change. Strongest m3 +3.00\u{a0}%, weakest m-2 −2.00\u{a0}%.",
    );
    expect(html).toContain('href="contracts/m3"');
  });

  test("say so if nothing rose, fell or moved", () => {
    const fell = movesHtml({ memory: [row("a", -1)], semiconductor: [] });
    expect(fell).toContain("Last 24 hours: 0 up, 1 down. Weakest ");
    const eleven = Array.from({ length: 11 }, (_, at) => row(`a${at}`, -1));
    const listed = movesHtml({ memory: eleven, semiconductor: [] });
    expect(listed).toContain("<h3>Up, 24 h %</h3><p>None</p>");
    const none = movesHtml({ memory: [row("a", 0), row("b", null)], semiconductor: [] });
    expect(none).toBe("<p>No level moved in 24 hours.</p>");
  });

  test("are of 30 days on a long board where no level moved in 24 hours", () => {
    const memory = Array.from({ length: 11 }, (_, at) => ({
      ...row(`a${at}`, 0),
      chg_30d_pct: at - 2,
    }));
    const html = movesHtml({ memory, semiconductor: [] });
    expect(idsIn(html)).toEqual(["a10", "a9", "a8", "a0", "a1"]);
    expect(html).toContain("<h3>Up, 30 d % (none moved in 24 h)</h3>");
    expect(html).toContain('<span data-field="chg_30d_pct">');
    const one = movesHtml({ memory: [...memory, row("b", -1)], semiconductor: [] });
    expect(idsIn(one)).toEqual(["b"]);
    expect(one).toContain("<h3>Down, 24 h %</h3>");
  });

  test("names are texts, there and among the indices", () => {
    const hostile = `"><img src=x onerror="broken()">`;
    const html =
      movesHtml({ memory: [row("a", 1, hostile)], semiconductor: [] }) +
      overviewTable([COMPOSITE, index(hostile)], new Map());
    expect(html).not.toContain("<img");
    expect(html).toContain("&lt;img");
  });
});

test("a contract's closes stand at their days, an index's one a day", () => {
  const line = { id: "a", closes: [1, 2], days_ago: [9, 1], breaks: [1] };
  expect(pointsOf(line, "2026-11-21")).toEqual([
    { date: "2026-11-12", close: 1, isBreak: false },
    { date: "2026-11-20", close: 2, isBreak: true },
  ]);
  const days = pointsOf({ id: "a", closes: [1, 2] }, "2026-11-21").map(({ date }) => date);
  expect(days).toEqual(["2026-11-20", "2026-11-21"]);
});

test("a contract's last close is not after the session", () => {
  const line = { id: "a", closes: [1, 2], days_ago: [1, 0] };
  const { levels } = contractLine(line, "2026-11-21T00:00:00.000Z", 45);
  expect(levels.map(({ date, session }) => session ?? date)).toEqual([
    "2026-11-20",
    "2026-11-21T00:00:00.000Z",
  ]);
});

test("a carried level is marked once it is older than its cadence, weekends aside", () => {
  /** What the board says of a level of Friday, 27 November 2026, 12:00, of its age at a session. */
  const saidAt = (session_utc: string, age_days: number, cadence: number): string =>
    coverageLine(
      {
        ...BOARD,
        session_utc,
        memory: [{ ...row("a", 0), basis: "carried", as_of: "2026-11-27", age_days }],
      },
      overdueBy(() => cadence, session_utc),
    );
  const FRESH = /all priced on time\.$/;
  const OLD = /1 older than their cadence\.$/;
  expect(saidAt("2026-11-29T12:00:00.000Z", 2, 1)).toMatch(FRESH);
  expect(saidAt("2026-11-30T12:00:00.000Z", 3, 1)).toMatch(FRESH);
  expect(saidAt("2026-12-01T00:00:00.000Z", 3.5, 1)).toMatch(OLD);
  // Thursday's level at the end of Friday lacks Friday's.
  expect(saidAt("2026-11-28T00:00:00.000Z", 1.5, 1)).toMatch(OLD);
  expect(saidAt("2026-12-11T00:00:00.000Z", 13.5, 7)).toMatch(OLD);
});
