/** Answers of a large market stay within what agents read, and together they are the whole. */
import { describe, expect, test } from "vitest";
import type { ApiAnswer } from "../../src/mcp/api.ts";
import { boardFor, closesFor, foundIn } from "../../src/mcp/short-answers.ts";

const answerOf = (value: object): ApiAnswer => ({
  isRefused: false,
  address: "http://prices.example/api/public/v1/prices",
  publication: 7,
  sha256: "00",
  body: JSON.stringify(value),
});
const recordOf = (at: number) => ({
  id: `part-${at}-16gb-spot`,
  ticker: `P${at}`,
  name: at % 10 === 0 ? "N".repeat(400) : `Part number ${at} 16 GB`,
  board: "memory",
  segment: "DRAM",
  price_type: "spot",
  basis: "reported",
  segment_id: "dram",
  unit: "USD per chip",
  spot_usd: 10 + at / 8,
  chg_24h_pct: at / 100,
  chg_30d_pct: null,
  chg_yoy_pct: at - 50,
  as_of: "2026-11-21",
  source: "Example Prices",
  free: at < 10,
  formerly: at === 5 ? ["older-5", "oldest-5"] : [],
  delisted_on: at === 6 ? "2026-11-01" : null,
});
const columnsOf = ({ id, name, unit, spot_usd, ...record }: ReturnType<typeof recordOf>) => {
  const { chg_24h_pct, chg_30d_pct, chg_yoy_pct, as_of, basis } = record;
  return { id, name, unit, spot_usd, chg_24h_pct, chg_30d_pct, chg_yoy_pct, as_of, basis };
};
const markets = [0, 1, 120, 1_200].map((count) =>
  Array.from({ length: count }, (_, at) => recordOf(at)),
);

describe.each(markets.map((records) => [records.length, records] as const))(
  "%i contracts",
  (count, records) => {
    const half = Math.ceil(count / 2);
    const board = answerOf({
      session_utc: "2026-11-21T00:00:00.000Z",
      delayed_sessions: 0,
      memory: records.slice(0, half),
      semiconductor: records.slice(half),
    });

    test("all pages of short rows are the board, and none is longer than 20,000 characters", () => {
      const rows: unknown[] = [];
      let page = 1;
      for (; ; page++) {
        const { body, more = "", sha256 } = boardFor(board, true, page);
        expect([body.length <= 20_000, sha256]).toEqual([true, board.sha256]);
        const { columns, rows: shown, contracts } = JSON.parse(body);
        expect(contracts).toBe(count);
        rows.push(
          ...shown.map((row: unknown[]) => Object.fromEntries(row.map((v, i) => [columns[i], v]))),
        );
        if (!more.includes(`Ask for page ${page + 1}`)) break;
      }
      const whole = records.map((record) => columnsOf(record));
      expect(rows).toEqual(whole);
      const beyond = boardFor(board, true, page + 1);
      expect(JSON.parse(beyond.body).rows).toEqual([]);
      expect(beyond.more).toMatch(`There is no page ${page + 1}: the last one is page ${page}.`);
    });

    test("those asked for by name come as published, if they fit", () => {
      const few = boardFor(board, false, 1);
      expect(few.body === board.body).toBe(board.body.length <= 19_000);
      expect(few.body.length).toBeLessThan(20_000);
    });

    test("all pages of found contracts are the catalog", () => {
      const ids: string[] = [];
      const catalog = answerOf({ session_utc: "", contracts: records });
      let page = 1;
      for (; ; page++) {
        const { body, more } = foundIn(catalog, "", page);
        const { found, contracts } = JSON.parse(body);
        expect([found, body.length < 20_000]).toEqual([count, true]);
        ids.push(...contracts.map(({ id }: { id: string }) => id));
        if (more === undefined) break;
      }
      expect(ids).toEqual(records.map(({ id }) => id));
      expect(foundIn(catalog, "", page + 1).more).toMatch(`the last one is page ${page}.`);
    });
  },
);

test.each([
  [3, 4, undefined],
  [4, 4, undefined],
  [5, 4, /^At most 4 closes, the newest\. Ask with to/],
  [Infinity, 5, undefined],
])("%s closes wanted, %s asked for: whether there may be more is said", (wanted, asked, more) => {
  const history = ["01", "02", "03", "04"].map((day) => ({ date: `2026-11-${day}`, close_usd: 5 }));
  for (const body of [{ history }, { series: { history } }]) {
    const answer = answerOf(body);
    const told = closesFor(answer, wanted, asked);
    expect(told).toEqual({
      ...answer,
      ...(more !== undefined && { more: expect.stringMatching(more) }),
    });
  }
});

test("a contract is found by a former id", () => {
  const catalog = answerOf({ session_utc: "", contracts: markets[2] as object[] });
  const { contracts } = JSON.parse(foundIn(catalog, "OLDEST-5", 1).body);
  expect(contracts).toMatchObject([{ id: "part-5-16gb-spot" }]);
});

describe("words as people write them", () => {
  const contract = (id: string, name: string, unit: string, board = "memory") => ({
    ...recordOf(1),
    id,
    name,
    unit,
    board,
    formerly: [],
  });
  const catalog = answerOf({
    session_utc: "",
    contracts: [
      { ...contract("ddr5-16gb-spot", "DDR5 16Gb (2Gx8) spot", "USD per chip (16 Gbit)") },
      { ...contract("ddr4-8gb-spot", "DDR4 8Gb 1600 spot", "USD per chip (8 Gbit)") },
      { ...contract("gpu-1", "A GPU", "USD per card", "semiconductor") },
    ],
  });
  test.each([
    ["DDR5 16Gb spot price", ["ddr5-16gb-spot"], ["price"]],
    ["16 Gbit", ["ddr5-16gb-spot"], []],
    ["16Gbit", ["ddr5-16gb-spot"], []],
    ["memory", ["ddr5-16gb-spot", "ddr4-8gb-spot"], []],
    ["DDR5 GPU", [], []],
    ["price of", [], ["price", "of"]],
    ["", ["ddr5-16gb-spot", "ddr4-8gb-spot", "gpu-1"], []],
  ])("%j", (words, ids, ignored) => {
    const told = JSON.parse(foundIn(catalog, words, 1).body);
    expect(told.contracts.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect([told.found, told.ignored]).toEqual([ids.length, ignored]);
  });
});
