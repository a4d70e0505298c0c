/** The exceptions in the report, each to the digit. */
import { expect, test } from "vitest";
import { marketOf } from "../unit/market-fixture.ts";
import { HEAD, reportOf, textOf } from "./markets.ts";

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
  expect(textOf(report, "carried")).toContain("Contract 0 contract-0|1.50|2026-11-19|1.5 d|45 d|");
  expect(textOf(report, "dropped")).toContain("Contract 1 contract-1|2.50|2026-08-13|100 d|45 d|");
  expect(textOf(report, "dropped")).toContain("Without a level so far: Contract 2 contract-2.");
  expect(textOf(report, "breaks")).toMatch(
    /Breaks 2[^]*2026-11-20 00:00 UTC\|Newer\|[^]*2026-11-16 12:00 UTC\|Older\|/,
  );
  expect(report).not.toContain("To come");
});
