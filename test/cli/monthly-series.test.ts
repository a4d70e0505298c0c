/** Monthly levels that are dated by the first of a month and published five weeks later move the series in full. */
import { expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, headJson, lines, mustPublish, quotesOf, type Run } from "./small-market.ts";

const OPEN: Run = {
  acceptMoves: true,
  allowSparse: true,
  maxUnchangedSessions: 99_999,
  maxGapSessions: 99_999,
};
const [JANUARY, FEBRUARY, MARCH] = ["m,2026-01-01,10", "m,2026-02-01,12", "m,2026-03-01,9"];

/**
 * Publishes a session at 12:00 with the level of the daily contract, and the levels of the monthly one that
 * are due.
 */
async function publishOn(
  store: MemoryStore,
  date: string,
  daily: number,
  monthly: string | null,
  run: Run = {},
): Promise<void> {
  const given: Run =
    monthly === null ? {} : { closes: lines("id,date,close_usd", monthly), revise: "Released" };
  const quotes = quotesOf({ d: daily });
  await mustPublish(store, { ...OPEN, session: `${date}T12Z`, quotes, ...given, ...run });
}

/** A monthly and a daily contract, each in an index of its own and both in the composite. */
const catalogWith = (cadence: string): Run => ({
  catalog: catalogOf([
    { id: "m", segment: "Monthly", cadence_days: cadence },
    { id: "d", segment: "Daily" },
  ]),
});

async function closesOn(store: MemoryStore, index: string, dates: readonly string[]) {
  const { series } = await headJson(store, `pro/indices/${index}.json`);
  const closes = new Map<string, number>(
    series.history.map(({ date, close }: { date: string; close: number }) => [date, close]),
  );
  return dates.map((date) => closes.get(date));
}

// Carried for 45 days, or for 1.5 × the cadence: 46 and 47 days. Each level is 66 days old when the next one comes.
test.each(["", "30", "30.4", "31"])(
  "published every day, with a cadence of %j days",
  async (cadence) => {
    const store = new MemoryStore();
    await publishOn(store, "2026-02-05", 100, JANUARY, catalogWith(cadence));
    await publishOn(store, "2026-02-20", 110, null);
    await publishOn(store, "2026-03-07", 110, null);
    const { last_used } = (await headJson(store, "pro/indices/monthly.json")).series;
    const session_utc = "2026-01-01T12:00:00.000Z";
    expect(last_used).toEqual([{ id: "m", session_utc, usd: 10, reference_usd: 10, away: true }]);
    await publishOn(store, "2026-03-08", 110, FEBRUARY);
    await publishOn(store, "2026-04-04", 110, null);
    await publishOn(store, "2026-04-05", 110, MARCH);

    // 12/10 and 9/12 on the days on which the levels became known.
    const days = ["2026-02-05", "2026-02-20", "2026-03-07", "2026-03-08", "2026-04-04"];
    const dates = ["2026-01-01", ...days, "2026-04-05"];
    expect(await closesOn(store, "monthly", dates)).toEqual([100, 100, 100, 100, 120, 120, 90]);
    // Alone in force, the daily contract moves by 110/100. Then the monthly one is known to have moved alone by
    // 12/10 before: 120 × √(110/100). At last it is known to have fallen by 9/12 beside it: × √(9/12).
    expect(await closesOn(store, "composite", dates)).toEqual([
      100, 100, 110, 110, 125.8571, 125.8571, 108.9954,
    ]);
  },
);

test("published once a month", async () => {
  const store = new MemoryStore();
  await publishOn(store, "2026-02-05", 100, JANUARY, catalogWith("30"));
  await publishOn(store, "2026-03-08", 110, FEBRUARY);
  await publishOn(store, "2026-04-05", 110, MARCH);
  // A day without a publication is added by the next one, with the level of the 1st that is known by then.
  const dates = ["2026-02-05", "2026-02-06", "2026-03-08", "2026-03-09", "2026-04-05"];
  expect(await closesOn(store, "monthly", dates)).toEqual([100, 120, 120, 90, 90]);
  // It ends where the series of every day ends: 120 × √(110/100), then × √(9/12).
  expect(await closesOn(store, "composite", dates)).toEqual([
    100, 120, 125.8571, 108.9954, 108.9954,
  ]);
});
