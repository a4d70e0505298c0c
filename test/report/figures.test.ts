/** The figures of the report: gates, changes, exceptions, each to the digit. */
import { describe, expect, test } from "vitest";
import { marketOf } from "../unit/market-fixture.ts";
import { at, HEAD, reportOf, textOf } from "./markets.ts";

describe("gates", () => {
  test("the report names the largest move with both levels and its distance from the limit", () => {
    const text = textOf(
      reportOf(
        marketOf([
          {
            levels: [
              { session: HEAD - 2, usd: 10_000_000 },
              { session: HEAD, usd: 13_333_000 },
            ],
          },
          {
            levels: [
              { session: HEAD - 1, usd: 10_000_000 },
              { session: HEAD, usd: 6_000_000 },
            ],
          },
          // A gate ignores a move over a break, and one whose predecessor is over the carry limit.
          {
            levels: [
              { session: HEAD - 1, usd: 10_000_000 },
              { session: HEAD, usd: 90_000_000, breakReason: "New unit" },
            ],
          },
          {
            levels: [
              { session: HEAD - 91, usd: 10_000_000 },
              { session: HEAD, usd: 1_000_000 },
            ],
          },
          // A carried level moved in an earlier session.
          {
            levels: [
              { session: HEAD - 9, usd: 10_000_000 },
              { session: HEAD - 8, usd: 1_000_000 },
            ],
          },
        ]),
      ),
      "gates",
    );
    expect(text).toContain(
      "Largest move passed|\u{2212}40.00 % contract-1 Contract 1, 10.00 to 6.00|\u{2264} 50 %|10.00 points|",
    );
    expect(text).toContain(
      "Coverage passed|80.00 % 4 of 5 contracts covered|\u{2265} 80 %|0.00 points|",
    );
    expect(text).toContain(
      "Age of carried levels passed|4 d contract-4 Contract 4 drops first|\u{2264} 45 d|41 d|",
    );
  });

  test("a move of exactly the limit passes; a larger accepted move is marked", () => {
    const moved = (now: number): string =>
      textOf(
        reportOf(
          marketOf([
            {
              levels: [
                { session: HEAD - 1, usd: 2_000_000 },
                { session: HEAD, usd: now },
              ],
            },
          ]),
        ),
        "gates",
      );
    expect(moved(3_000_000)).toContain("Largest move passed|+50.00 %");
    expect(moved(3_000_001)).toContain("Largest move let through|+50.00 %");
    expect(moved(4_000_000)).toContain("|\u{2212}50.00 points|");
  });

  test("the report shows the carried level that drops next, by its own limit", () => {
    const text = textOf(
      reportOf(
        marketOf([
          { levels: [{ session: HEAD - 60, usd: 1 }] },
          { contract: { maxCarryDays: 3 }, levels: [{ session: HEAD - 5, usd: 1 }] },
        ]),
      ),
      "gates",
    );
    expect(text).toContain("2.5 d contract-1 Contract 1 drops first|\u{2264} 3 d|0.5 d|");
    expect(text).toContain("Coverage let through|0.00 %");
  });
});

test("the report says since when no level moved, by the longest cadence of the session's levels", () => {
  const gatesOf = (cadenceDays: string, at: number): string =>
    textOf(
      reportOf(
        marketOf([
          {
            contract: { cadenceDays },
            levels: [
              { session: HEAD - 9, usd: 2 },
              { session: at, usd: 2 },
            ],
          },
        ]),
      ),
      "gates",
    );
  expect(gatesOf("0.5", HEAD)).toContain(
    "Since a level moved let through|9 sessions|\u{2264} 8 sessions|-1|",
  );
  expect(gatesOf("7", HEAD)).toContain(
    "Since a level moved passed|9 sessions|\u{2264} 14 sessions|5|",
  );
  expect(gatesOf("0.5", HEAD - 1)).toContain("no level for the session|\u{2264} 8 sessions|");
});

test("carried and dropped levels, contracts without a level, and breaks have their details", () => {
  const report = reportOf(
    marketOf([
      { levels: [{ session: HEAD - 3, usd: 1_500_000 }] },
      { levels: [{ session: HEAD - 200, usd: 2_500_000 }] },
      { levels: [] },
      {
        levels: [
          { session: HEAD - 9, usd: 1, breakReason: "Older" },
          { session: HEAD - 2, usd: 1, breakReason: "Newer" },
          { session: HEAD, usd: 1 },
          { session: HEAD + 1, usd: 1, breakReason: "To come" },
        ],
      },
    ]),
  );
  expect(textOf(report, "carried")).toContain("contract-0|Contract 0|1.50|2026-11-19|1.5 d|45 d|");
  expect(textOf(report, "dropped")).toContain("contract-1|Contract 1|2.50|2026-08-13|100 d|45 d|");
  expect(textOf(report, "dropped")).toContain("Without a level so far: contract-2.");
  expect(textOf(report, "breaks")).toMatch(
    /Breaks 2[^]*2026-11-20 00:00 UTC\|Newer\|[^]*2026-11-16 12:00 UTC\|Older\|/,
  );
  expect(report).not.toContain("To come");
});
