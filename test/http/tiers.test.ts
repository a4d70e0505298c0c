/** Every cell of the table of routes and tiers, over a real socket. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sessionUtc } from "../../src/market/session.ts";
import { TIERS, type TierName } from "../../src/market/tier.ts";
import { DATA_ROUTES, isExact } from "../../src/proxy/routes.ts";
import { TIER_ROWS } from "../../src/proxy/tier-words.ts";
import { FREE_IDS, KEYED_IDS, SESSION, startTestProxy, type TestProxy } from "./fixture.ts";

const API = "/api/public/v1";
const CSV = "text/csv; charset=utf-8; header=present";
const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const PARQUET = "application/vnd.apache.parquet";
const [KEYED_ID = ""] = KEYED_IDS;

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const keyOf = (tier: TierName): { key?: string } =>
  tier === "free" ? {} : { key: tier === "starter" ? proxy.starter : proxy.pro };

const REFUSED = {
  key_required: 401,
  tier_required: 403,
} as const;
type Cell = 200 | keyof typeof REFUSED;

const TABLE: readonly (readonly [path: string, free: Cell, starter: Cell, pro: Cell])[] = [
  ["/prices", 200, 200, 200],
  [`/prices/${FREE_IDS[0]}`, 200, 200, 200],
  [`/prices/${KEYED_ID}`, "key_required", 200, 200],
  ["/index", "key_required", 200, 200],
  ["/index?ids=dram-0,dram-1", "key_required", "tier_required", 200],
  ["/index?ids=dram-0,dram-1&weights=2,1", "key_required", "tier_required", 200],
  ["/index?ids=dram-0,dram-1&quantities=2,1", "key_required", "tier_required", 200],
  ["/index?weights=1", "key_required", "tier_required", 200],
  ["/indices", "key_required", 200, 200],
  ["/indices/composite", "key_required", 200, 200],
  ["/indices/dram", "key_required", 200, 200],
  ["/export.csv", "key_required", 200, 200],
  ["/export.xlsx", "key_required", "tier_required", 200],
  ["/history.csv", "key_required", 200, 200],
  ["/history.parquet", "key_required", "tier_required", 200],
  ["/levels.csv", "key_required", 200, 200],
  ["/indices.csv", "key_required", 200, 200],
  ["/sparklines", "key_required", 200, 200],
  ["/corrections", "key_required", 200, 200],
  ["/usage", 200, 200, 200],
];

test("no data route is missing here, and each is in one row of the table of plans", () => {
  const paths = Object.values(DATA_ROUTES).map(({ path }) => path);
  const asked = TABLE.map(([path]) => API + path.replace(/\?.*/, ""));
  expect(paths.filter((path) => !asked.some((sent) => isExact(sent, path)))).toEqual([]);
  const told = TIER_ROWS.flatMap(({ addresses }) => addresses);
  for (const path of [...paths, `${API}/sums`]) {
    expect(told.filter((address) => API + address === path)).toHaveLength(1);
  }
});

for (const [at, tier] of (["free", "starter", "pro"] as const).entries()) {
  describe(tier, () => {
    for (const row of TABLE) {
      const [path] = row;
      const cell = row[at + 1] as Cell;
      test(`${path}: ${cell}`, async () => {
        const { status, json, headers } = await proxy.get(API + path, keyOf(tier));
        if (cell !== 200) {
          expect([status, json.code]).toEqual([REFUSED[cell], cell]);
          expect(json.required_tier).toBe(cell === "tier_required" ? "pro" : undefined);
          expect(headers["www-authenticate"]).toBe(cell === "key_required" ? "Bearer" : undefined);
        } else if (path === "/index?weights=1") {
          // The tier is sufficient; the parameters are missing.
          expect([status, json.code]).toEqual([400, "invalid_parameter"]);
        } else {
          expect(status).toBe(200);
        }
      });
    }

    test("header fields name session, delay and snapshot, and agree with the body", async () => {
      const { delaySessions, license } = TIERS[tier];
      const { headers, json } = await proxy.get(`${API}/prices`, keyOf(tier));
      const session = sessionUtc(SESSION - delaySessions);
      expect(headers["x-session-utc"]).toBe(session);
      expect(headers["x-delayed-sessions"]).toBe(String(delaySessions));
      expect(headers["x-snapshot"]).toBe("2026-11-21T00Z/r1");
      expect(Object.keys(json).slice(0, 4)).toEqual([
        "session_utc",
        "delayed_sessions",
        "license",
        "attribution",
      ]);
      expect(json).toMatchObject({
        session_utc: session,
        delayed_sessions: delaySessions,
        license,
      });
      expect(json.next_session_utc).toBe(sessionUtc(SESSION + 1));
    });
  });
}

test("the free slice is the ten free contracts, without history", async () => {
  const { json } = await proxy.get(`${API}/prices`);
  expect(json.memory.map(({ id }: { id: string }) => id)).toEqual(FREE_IDS);
  expect(json.semiconductor).toEqual([]);
  const one = await proxy.get(`${API}/prices/${FREE_IDS[3]}`);
  expect(one.json).toMatchObject({ id: FREE_IDS[3], history: [] });
});

test("history is 90 days deep for starter and 5 years for pro", async () => {
  const ofStarter = await proxy.get(`${API}/prices/dram-0`, keyOf("starter"));
  const ofPro = await proxy.get(`${API}/prices/dram-0`, keyOf("pro"));
  expect(ofStarter.json.history[0].date).toBe("2026-08-23");
  expect(ofStarter.json.history).toHaveLength(90);
  // Two years are published.
  expect(ofPro.json.history[0].date).toBe("2024-11-21");
});

test("exports are downloads under their names", async () => {
  const starter = await proxy.get(`${API}/export.csv`, keyOf("starter"));
  expect(starter.headers["content-type"]).toBe(CSV);
  expect(starter.headers["content-disposition"]).toBe(
    'attachment; filename="chipboard-2026-11-20T12Z-starter.csv"',
  );
  const csv = await proxy.get(`${API}/export.csv`, keyOf("pro"));
  expect(csv.headers["content-disposition"]).toBe(
    'attachment; filename="chipboard-2026-11-21T00Z-pro.csv"',
  );
  expect(csv.text).toMatch(
    /^session_utc,contract_id,.*,source\r\n2026-11-21T00:00:00.000Z,dram-0,/,
  );
  const xlsx = await proxy.get(`${API}/export.xlsx`, keyOf("pro"));
  expect(xlsx.headers["content-type"]).toBe(XLSX);
  expect(xlsx.headers["content-disposition"]).toBe(
    'attachment; filename="chipboard-2026-11-21T00Z-pro.xlsx"',
  );
  expect(xlsx.raw.subarray(0, 2).toString()).toBe("PK");
});

test.each([
  ["/history.csv", "starter", "2026-11-20T12Z-starter-history.csv", CSV],
  ["/history.csv", "pro", "2026-11-21T00Z-pro-history.csv", CSV],
  ["/levels.csv", "starter", "2026-11-20T12Z-starter-levels.csv", CSV],
  ["/indices.csv", "pro", "2026-11-21T00Z-pro-indices.csv", CSV],
] as const)("%s for %s is a download that comes whole", async (path, tier, name, type) => {
  const whole = await proxy.get(API + path, keyOf(tier));
  expect(whole.headers).toMatchObject({
    "content-type": type,
    "content-disposition": `attachment; filename="chipboard-${name}"`,
    "accept-ranges": "none",
  });
  const old = `${path}?publication=${String(whole.headers["x-publication"])}`;
  for (const asked of [path, old]) {
    for (const range of ["bytes=0-0", "bytes=4-99", `bytes=${whole.raw.length}-`]) {
      for (const ifRange of [undefined, whole.headers.etag, '"x"']) {
        const headers = { range, ...(ifRange !== undefined && { "if-range": ifRange }) };
        const answer = await proxy.get(API + asked, { ...keyOf(tier), headers });
        expect([answer.status, answer.headers["accept-ranges"]]).toEqual([200, "none"]);
        expect(answer.headers["content-range"]).toBeUndefined();
        expect(answer.raw.equals(whole.raw)).toBe(true);
      }
    }
  }
});

test.each([["/history.parquet", "pro", "2026-11-21T00Z-pro-history.parquet", PARQUET]] as const)(
  "%s for %s is a download that comes in parts",
  async (path, tier, name, type) => {
    const { headers, raw } = await proxy.get(API + path, keyOf(tier));
    expect(headers).toMatchObject({
      "content-type": type,
      "content-disposition": `attachment; filename="chipboard-${name}"`,
      "accept-ranges": "bytes",
      "x-snapshot": "2026-11-21T00Z/r1",
    });
    const key = keyOf(tier);
    const range = { range: "bytes=4-99" };
    const part = await proxy.get(API + path, { ...key, headers: range });
    expect([part.status, part.headers["content-range"]]).toEqual([206, `bytes 4-99/${raw.length}`]);
    expect(part.raw.equals(raw.subarray(4, 100))).toBe(true);
    const beyond = { range: `bytes=${raw.length}-` };
    expect((await proxy.get(API + path, { ...key, headers: beyond })).status).toBe(416);
    const known = { "if-none-match": headers.etag as string };
    expect((await proxy.get(API + path, { ...key, headers: known })).status).toBe(304);
  },
);

test("a basket is priced with the caller's weights, in the caller's order", async () => {
  const ask = (query: string) => proxy.get(`${API}/index?${query}`, keyOf("pro"));
  const { json } = await ask("ids=nand-0,dram-2&weights=3,1");
  expect(json).toMatchObject({
    name: "basket",
    weighting: "custom",
    constituents: 2,
    excluded: [],
  });
  const [first, second] = json.contributions;
  expect([first.id, first.weight_pct, second.id, second.weight_pct]).toEqual([
    "nand-0",
    75,
    "dram-2",
    25,
  ]);
  expect(json.level).toBeCloseTo(75 * first.relative + 25 * second.relative, 3);
  const scaled = await ask("ids=nand-0,dram-2&weights=0.000000003,0.000000001");
  expect(scaled.json).toEqual(json);
  const equal = await ask("ids=nand-0,dram-2");
  expect(equal.json.weighting).toBe("equal");
  expect(equal.json.contributions.map((item: { weight_pct: number }) => item.weight_pct)).toEqual([
    50, 50,
  ]);
  expect((await ask("ids=nand-0%2Cdram-2")).json).toEqual(equal.json);
});

test("/usage shows the calls used, and costs no call", async () => {
  const before = await proxy.get(`${API}/usage`, keyOf("starter"));
  expect(before.json).toMatchObject({
    account: "small",
    tier: "starter",
    limit: 25_000,
    remaining: 25_000 - before.json.used,
    resets_at: "2026-12-01T00:00:00.000Z",
  });
  expect(before.headers["cache-control"]).toBe("no-store");
  await proxy.get(`${API}/prices`, keyOf("starter"));
  const after = await proxy.get(`${API}/usage`, keyOf("starter"));
  expect(after.json.used).toBe(before.json.used + 1);
  expect(after.headers["x-ratelimit-remaining"]).toBe(String(after.json.remaining));
  expect((await proxy.get(`${API}/usage`)).json).toMatchObject({
    account: null,
    tier: "free",
    limit: 1000,
  });
  expect((await proxy.get(`${API}/usage`, keyOf("pro"))).json).toMatchObject({
    account: "large",
    limit: null,
    remaining: null,
  });
});
