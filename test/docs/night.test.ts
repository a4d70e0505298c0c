/** docs/operate/night.md: what its commands print, and what callers then get. */
import { expect, test } from "vitest";
import { night, NOON, prepareNights, TITLES, type Night } from "./night.ts";

prepareNights();

const titles: string[] = [];
const caseOf = (title: string, follow: (night: Night) => Promise<void>): void => {
  titles.push(title);
  night(title, follow);
};

/** The levels of noon.csv and tonight.csv, with their basis. */
const AT_NOON = {
  "ddr4-8gb": [8.1, "reported"],
  "ddr5-16gb": [12.5, "reported"],
  "hbm3e-24gb": [310, "reported"],
  "nand-1tb": [9.4, "reported"],
  "n3-wafer": [19_500, "reported"],
};
const TONIGHT = {
  ...AT_NOON,
  "ddr4-8gb": [8.2, "reported"],
  "ddr5-16gb": [12.6, "reported"],
  "nand-1tb": [9.3, "reported"],
};

caseOf("The feed is absent", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  expect(await night.readyz()).toMatchObject({ snapshot: NOON, overdue: 0 });
  const delays = async () =>
    Promise.all(
      (["pro", "starter", "free"] as const).map(async (tier) => {
        const { headers, json } = await night.get(tier, "/prices");
        expect(headers["x-delayed-sessions"]).toBe(String(json.delayed_sessions));
        return json.delayed_sessions;
      }),
    );
  expect(await delays()).toEqual([0, 1, 1]);
  await night.serveAt("2026-11-21T01:00:00Z");
  expect(await delays()).toEqual([1, 2, 2]);
  expect(await night.levels("pro")).toEqual(AT_NOON);
  expect(await night.readyz()).toMatchObject({ snapshot: NOON, overdue: 1 });
});

caseOf("The feed is late", async (night) => {
  const whileWaiting: Promise<unknown>[] = [];
  await night.publish((printed) => {
    if (whileWaiting.length > 0 || !printed.includes("Waiting")) return;
    whileWaiting.push(night.levels("pro"));
    night.copy("tonight.csv", "feed.csv");
  });
  expect(await Promise.all(whileWaiting)).toEqual([AT_NOON]);
  await night.switched();
  expect(await night.levels("pro")).toEqual(TONIGHT);
  expect(await night.levels("free")).toEqual(AT_NOON);
});

caseOf("Half the feed is there", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched();
  expect(await night.levels("pro")).toEqual({
    ...TONIGHT,
    "hbm3e-24gb": [310, "carried"],
    "nand-1tb": [9.4, "carried"],
    "n3-wafer": [19_500, "carried"],
  });
  const asOf = (await night.board("pro")).map((row) => row["as_of"]);
  expect(asOf).toEqual(["2026-11-21", "2026-11-21", "2026-11-20", "2026-11-20", "2026-11-20"]);
  expect(await night.levels("starter")).toEqual(AT_NOON);
});

caseOf("The feed is stale", async (night) => {
  await night.publish();
  await night.switched();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  for (let sessions = 2; sessions <= 8; sessions += 1) {
    const now = new Date(Date.parse("2026-11-20T12:05:00Z") + sessions * 12 * 3_600_000);
    const printed = await night.publishBetween(now.toISOString(), "--quotes", "noon.csv");
    expect(printed).toContain("\nUnchanged  no level has moved since 2026-11-20T12Z\n");
  }
  await night.publish();
  const eighth = "2026-11-24T12Z/r1";
  await night.serveAt("2026-11-25T00:05:00Z");
  expect(await night.readyz()).toMatchObject({ snapshot: eighth, overdue: 0 });
  await night.serveAt("2026-11-25T01:00:00Z");
  expect(await night.readyz()).toMatchObject({ snapshot: eighth, overdue: 1 });
  expect((await night.get("pro", "/prices")).json.delayed_sessions).toBe(1);
});

caseOf("One row is bad", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched();
  expect(await night.levels("pro")).toEqual({ ...TONIGHT, "nand-1tb": [9.4, "carried"] });
});

caseOf("One row has an unknown id", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched();
  expect(await night.levels("pro")).toEqual(TONIGHT);
  const { status, json } = await night.get("pro", "/prices/ddr6-32gb");
  expect([status, json.code]).toEqual([404, "unknown_contract"]);
});

caseOf("The catalog is cut short", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched();
  expect(await night.levels("pro")).toEqual(TONIGHT);
});

caseOf("A unit changes", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched();
  const [, row] = await night.board("pro");
  expect(row).toMatchObject({
    spot_usd: 104,
    unit: "USD per module",
    capacity_gb: 16,
    usd_per_gb: 6.5,
    chg_24h_pct: null,
    break: { session_utc: "2026-11-21T00:00:00.000Z", reason: "priced by the module" },
  });
  for (const tier of ["starter", "free"] as const) {
    expect((await night.board(tier))[1]).toMatchObject({
      spot_usd: 12.5,
      unit: "USD per chip",
      capacity_gb: 2,
      usd_per_gb: 6.25,
      break: null,
    });
  }
  const csv = (await night.get("starter", "/export.csv")).text;
  expect(csv).toMatch(/,ddr5-16gb,.*,USD per chip,12\.5,.*,2,6\.25,/);
  // The next session.
  await night.publishBetween("2026-11-21T12:05:00Z", "--quotes", "feed.csv");
  await night.switched("2026-11-21T12Z/r1");
  expect((await night.board("starter"))[1]).toMatchObject({ unit: "USD per module" });
});

caseOf("A contract is renamed", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched();
  const moved = await night.get("pro", "/prices/ddr5-16gb");
  expect([moved.status, moved.headers.location]).toEqual([
    308,
    "/api/public/v1/prices/ddr5-16gb-spot",
  ]);
  expect((await night.get("pro", "/prices/ddr5-16gb-spot")).json.history).toEqual([
    { date: "2026-11-20", close_usd: 12.5 },
    { date: "2026-11-21", close_usd: 12.6, session_utc: "2026-11-21T00:00:00.000Z" },
  ]);
  expect(await night.levels("free")).toMatchObject({ "ddr5-16gb-spot": [12.5, "reported"] });
});

caseOf("A contract is delisted", async (night) => {
  await night.publish();
  await night.switched();
  const { "nand-1tb": nand, ...others } = TONIGHT;
  expect(nand).toEqual([9.3, "reported"]);
  expect(await night.levels("pro")).toEqual(others);
  const { status, json } = await night.get("pro", "/prices/nand-1tb");
  expect([status, json]).toEqual([
    200,
    expect.objectContaining({
      spot_usd: 9.4,
      basis: "discontinued",
      as_of: "2026-11-20",
      chg_24h_pct: null,
      history: [{ date: "2026-11-20", close_usd: 9.4 }],
    }),
  ]);
  expect(await night.levels("starter")).toEqual(AT_NOON);
  // The next session.
  await night.publishBetween("2026-11-21T12:05:00Z", "--quotes", "tonight.csv");
  await night.switched("2026-11-21T12Z/r1");
  expect(await night.levels("starter")).toEqual(others);
  expect((await night.get("free", "/prices/nand-1tb")).json).toMatchObject({
    basis: "discontinued",
    history: [],
  });
});

caseOf("A session was missed", async (night) => {
  await night.publish();
  await night.switched("2026-11-22T00Z/r1");
  expect(await night.levels("pro")).toEqual(TONIGHT);
  expect((await night.get("pro", "/prices/ddr5-16gb")).json.history).toEqual([
    { date: "2026-11-20", close_usd: 12.5 },
    { date: "2026-11-21", close_usd: 12.8 },
    { date: "2026-11-22", close_usd: 12.6, session_utc: "2026-11-22T00:00:00.000Z" },
  ]);
  const { json } = await night.get("starter", "/prices/ddr5-16gb");
  expect(json).toMatchObject({
    session_utc: "2026-11-21T12:00:00.000Z",
    spot_usd: 12.8,
    basis: "reported",
  });
  expect(json.history.at(-1)).toEqual({ date: "2026-11-21", close_usd: 12.8 });
});

caseOf("A price was wrong", async (night) => {
  await night.publish();
  await night.switched();
  await night.publish();
  expect((await night.get("pro", "/prices/nand-1tb")).json).toMatchObject({
    history: [{ close_usd: 9.4 }, { close_usd: 9.3 }],
    corrections: [],
  });
  await night.publish();
  await night.switched("2026-11-21T00Z/r2");
  const corrections = [
    {
      session_utc: "2026-11-20T12:00:00.000Z",
      old_usd: 9.4,
      new_usd: 9.6,
      reason: "typing error at the source",
      corrected_in: "2026-11-21T00Z/r2",
    },
  ];
  expect((await night.get("pro", "/prices/nand-1tb")).json).toMatchObject({
    spot_usd: 9.3,
    history: [
      { date: "2026-11-20", close_usd: 9.6 },
      { date: "2026-11-21", close_usd: 9.3 },
    ],
    corrections,
  });
  expect((await night.get("starter", "/prices/nand-1tb")).json).toMatchObject({
    spot_usd: 9.6,
    corrections,
  });
});

caseOf("A clock is wrong", async (night) => {
  await night.publish();
  expect(await night.levels("pro")).toEqual(AT_NOON);
  await night.publish();
  await night.switched("2026-11-29T00Z/r1");
  expect(await night.levels("pro")).toEqual(TONIGHT);
  // The next night needs no more than its levels.
  const later = "2026-11-29T12:05:00Z";
  expect(await night.publishBetween(later, "--quotes", "noon.csv")).toContain("Published");
});

test("every case of the page is one of these", () => {
  expect(TITLES).toEqual(titles);
  expect(titles).toHaveLength(13);
});
