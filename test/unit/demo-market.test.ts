/** The demonstration's levels, and the random numbers behind them. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import { describe, expect, it } from "vitest";
import { demoCatalogPath, readDemoContracts, readDemoEvents } from "../../src/demo/demo-catalog.ts";
import { demoCsv, demoHistory, type DemoQuote } from "../../src/demo/demo-feed.ts";
import { NOISE_LIMIT, createNoise, seedOf, uniformAt } from "../../src/demo/random.ts";
import { DEMO_FIRST_SESSION } from "../../src/demo/demo-series.ts";
import { parseMicros } from "../../src/market/decimal.ts";
import { BASES } from "../../src/market/series.ts";
import { closeSessionOf, dayOf, parseDate, parseSession } from "../../src/market/session.ts";
import type { Day, Session } from "../../src/market/session.ts";

const session = (key: string): Session => parseSession(key) as Session;
const LAST = session("2027-03-01T12Z");
const DEMO_SESSION = session("2026-11-21T00Z");

const eventsOf = (what: string) => readDemoEvents().filter((event) => event.what === what);

const sha256 = (rows: Iterable<DemoQuote>): string => {
  const hash = createHash("sha256");
  for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
  return hash.digest("hex");
};

describe("the demonstration's levels", () => {
  const contracts = readDemoContracts();
  const rows = [...demoHistory(DEMO_FIRST_SESSION, LAST)].flat();
  const byContract = Map.groupBy(rows, (row) => row.id);
  const bySession = Map.groupBy(rows, (row) => session(row.session_utc));

  it("follow all rules for quotes, and move by less than 50 % each", () => {
    const faults: unknown[] = [];
    for (const [id, levels] of byContract) {
      let previous: { at: Session; usd: number; asOf: Day } | null = null;
      for (const row of levels) {
        const at = parseSession(row.session_utc);
        const usd = parseMicros(row.spot_usd, 1e9);
        const asOf = row.as_of === undefined ? dayOf(at ?? Number.NaN) : parseDate(row.as_of);
        const isSound =
          at !== null &&
          usd !== null &&
          usd > 0 &&
          asOf !== null &&
          asOf <= dayOf(at) &&
          BASES.some((basis) => basis === row.basis);
        if (!isSound) {
          faults.push(row);
          continue;
        }
        if (previous !== null) {
          const move = Math.abs(usd / previous.usd - 1);
          if (at <= previous.at || asOf < previous.asOf || move > 0.5) faults.push(row);
        }
        previous = { at, usd, asOf };
      }
      expect(contracts.some((contract) => contract.id === id)).toBe(true);
    }
    expect(faults).toEqual([]);
  });

  it("have a daily volatility of 0.3 to 3 % for each contract that is assessed on weekdays", () => {
    const assessed = contracts.filter(({ schedule }) => /weekdays|overnight/.test(schedule));
    expect(assessed.length).toBeGreaterThan(50);
    for (const { id } of assessed) {
      const usd = (byContract.get(id) ?? []).map((row) => Number(row.spot_usd));
      const squares = usd.slice(1).map((now, at) => (now / (usd[at] as number) - 1) ** 2);
      const perDay = Math.sqrt((2 * squares.reduce((sum, square) => sum + square, 0)) / usd.length);
      expect(perDay, id).toBeGreaterThan(0.003);
      expect(perDay, id).toBeLessThan(0.03);
    }
  });

  it.each(["DRAM", "NAND", "LPDDR"])(
    "of %s go through years of halvings and doublings",
    (segment) => {
      const chips = contracts.filter(
        (contract) =>
          contract.segment === segment &&
          "level" in contract.origin &&
          contract.priceType === "spot",
      );
      const yearEnds = ["2022-12-01", "2023-09-01", "2024-09-02", "2025-03-03", "2026-08-20"];
      const meanAt = (date: string): number => {
        const at = 2 * (parseDate(date) as Day) + 1;
        const logs = chips.flatMap(({ id, listed }) => {
          const row = byContract.get(id)?.findLast((each) => session(each.session_utc) <= at);
          return listed !== null || row === undefined ? [] : [Math.log(Number(row.spot_usd))];
        });
        return Math.exp(logs.reduce((sum, log) => sum + log, 0) / logs.length);
      };
      const means = yearEnds.map((date) => meanAt(date));
      if (chips.every(({ listed }) => listed !== null)) return;
      const [start, trough, peak, low, now] = means as [number, number, number, number, number];
      expect(trough).toBeLessThan(start);
      expect(peak).toBeGreaterThan(1.4 * trough);
      expect(low).toBeLessThan(peak);
      expect(now).toBeGreaterThan(3 * low);
    },
  );

  it("of contracts move once a month, of shops in steps, of the press rarely", () => {
    const movesOf = (id: string): number => {
      const levels = byContract.get(id) ?? [];
      return levels.filter(({ spot_usd: usd }, at) => at > 0 && usd !== levels[at - 1]?.spot_usd)
        .length;
    };
    const monthsOf = (id: string): number => {
      const levels = byContract.get(id) ?? [];
      const span = session(levels.at(-1)!.session_utc) - session(levels[0]!.session_utc);
      return span / 61;
    };
    for (const { id, schedule, priceType } of contracts) {
      const each = movesOf(id) / monthsOf(id);
      if (priceType === "contract") expect([id, schedule]).toEqual([id, "monthly"]);
      if (schedule === "monthly") expect(Math.abs(each - 1), id).toBeLessThan(0.1);
      if (schedule === "quarterly") expect(each, id).toBeLessThan(0.5);
      if (priceType === "retail") {
        expect(each, id).toBeGreaterThan(0.5);
        expect(each, id).toBeLessThan(3.5);
      }
    }
  });

  it("of modules, cards and drives fit the prices of their chips", () => {
    let compared = 0;
    const capacityOf = new Map<string, number>(
      parse<Record<string, string>>(readFileSync(demoCatalogPath), { columns: true }).map((row) => [
        row["id"] as string,
        Number(row["capacity_gb"]),
      ]),
    );
    for (const { id, origin, schedule } of contracts) {
      if (!("of" in origin)) continue;
      const chip = new Map(byContract.get(origin.of)?.map((row) => [row.session_utc, row]));
      for (const row of byContract.get(id) ?? []) {
        const ofChip = chip.get(row.session_utc);
        if (ofChip === undefined || schedule === "stepped" || schedule === "irregular") continue;
        const perGb = (usd: string, of: string): number =>
          Number(usd) / (capacityOf.get(of) ?? NaN);
        const ratio = perGb(row.spot_usd, id) / perGb(ofChip.spot_usd, origin.of);
        compared += 1;
        if (!(ratio > 0.9 && ratio < 1.7)) expect([row, ratio]).toBe("fitting its chips");
      }
    }
    expect(compared).toBeGreaterThan(10_000);
  });

  it("equal the anchor on its day, rounded to the tick", () => {
    let compared = 0;
    for (const { id, origin, schedule } of contracts) {
      if (!("level" in origin) || schedule === "stepped" || schedule === "irregular") continue;
      const day = Math.max(closeSessionOf(origin.day), DEMO_FIRST_SESSION);
      const row = byContract.get(id)?.find((level) => session(level.session_utc) === day);
      if (row === undefined) continue;
      compared += 1;
      expect(Math.abs(Number(row.spot_usd) / (origin.level / 1e6) - 1), id).toBeLessThan(0.001);
    }
    expect(compared).toBeGreaterThan(20);
  });

  it("start, end, skip sessions and have earlier dates as the schedules say", () => {
    const sessionsOf = (id: string): Session[] =>
      (byContract.get(id) ?? []).map((row) => session(row.session_utc));
    const late = contracts.filter(({ listed }) => listed !== null);
    const ended = contracts.filter(({ delistedOn }) => delistedOn !== null);
    expect(late.length).toBeGreaterThanOrEqual(20);
    expect(ended).toHaveLength(1);
    for (const { id, listed } of late) expect(sessionsOf(id)[0]).toBe(listed);
    for (const contract of ended) {
      const end = 2 * (contract.delistedOn as Day);
      expect(sessionsOf(contract.id).at(-1)).toBe(end - 1);
      expect(DEMO_SESSION - end).toBeGreaterThan(45 * 2);
    }
    for (const { id, schedule } of contracts) {
      // The launch may come on any day.
      const sessions = sessionsOf(id).slice(1);
      const hours = new Set(sessions.map((at) => at % 2));
      const weekdays = new Set(sessions.map((at) => new Date(at * 43_200_000).getUTCDay()));
      const isRare = schedule === "monthly" || schedule === "quarterly";
      expect(hours.size, id).toBe(isRare ? 1 : 2);
      const isOfShop = schedule === "stepped" || schedule === "irregular";
      const days = { weekdays: 5, overnight: 6 }[schedule as string] ?? (isOfShop ? 7 : 5);
      expect(weekdays.size, id).toBeLessThanOrEqual(days);
      const span = (sessions.at(-1) as Session) - (sessions[0] as Session) + 1;
      const share = sessions.length / span;
      if (schedule === "irregular") expect(Math.abs(share - 7 / 8), id).toBeLessThan(0.02);
      if (schedule === "stepped") expect(share, id).toBe(1);
      if (schedule === "weekdays") expect(Math.abs(share - 5 / 7), id).toBeLessThan(0.01);
      if (schedule === "monthly") expect(Math.abs(share * 61 - 1), id).toBeLessThan(0.1);
      const dated = byContract.get(id)?.filter((row) => row.as_of !== undefined) ?? [];
      expect(dated.length > 0, id).toBe(schedule === "overnight");
    }
    expect(new Set(contracts.map(({ schedule }) => schedule)).size).toBe(6);
    expect(new Set(rows.map(({ basis }) => basis))).toEqual(new Set(BASES));
  });

  it("have the two breaks of events.csv", () => {
    const breaks = rows.filter((row) => row.break !== undefined);
    expect(breaks.map((row) => [row.id, session(row.session_utc), row.break])).toEqual(
      eventsOf("break").map((event) => [event.id, event.session, event.text]),
    );
    expect(breaks).toHaveLength(2);
    for (const { id, session: at, ratio } of eventsOf("break")) {
      const of = (when: number): number =>
        Number(byContract.get(id)?.findLast((row) => session(row.session_utc) <= when)?.spot_usd);
      const moved = of(at as Session) / of((at as Session) - 1);
      expect(Math.abs(moved / ratio - 1), id).toBeLessThan(0.03);
    }
  });

  it("have a range and a number of prices from 2026-09-01 on, where the source has them", () => {
    const types = new Map(contracts.map(({ id, priceType }) => [id, priceType]));
    const from = session("2026-09-01T00Z");
    for (const row of rows) {
      const { low_usd: low, high_usd: high, inputs, spot_usd: spot } = row;
      const isDetailed = session(row.session_utc) >= from;
      const hasRange = isDetailed && ["spot", "contract"].includes(types.get(row.id) ?? "");
      const isFit = hasRange
        ? Number(low) <= Number(spot) && Number(spot) <= Number(high)
        : low === undefined && high === undefined;
      const isCounted = isDetailed && row.basis === "assessed";
      const isCount = isCounted
        ? /^(?:[5-9]|1\d|2[0-4])$/.test(inputs ?? "")
        : inputs === undefined;
      if (!isFit || !isCount) expect(row).toBe("within its range, or without one");
    }
    expect(new Set(rows.map(({ inputs }) => inputs)).size).toBe(21);
  });

  it("have one misprint, if it is asked for, and only in the last session", () => {
    const [misprint] = eventsOf("misprint");
    const wrong = [...demoHistory(DEMO_SESSION - 1, DEMO_SESSION, misprint)];
    expect(wrong[0]).toEqual(bySession.get(DEMO_SESSION - 1));
    const right = bySession.get(DEMO_SESSION) ?? [];
    const differing = (wrong[1] ?? []).filter((row, at) => row.spot_usd !== right[at]?.spot_usd);
    expect(differing.map(({ id }) => id)).toEqual([misprint?.id]);
    const [row] = differing;
    const ratio = Number(row?.spot_usd) / Number(right.find(({ id }) => id === row?.id)?.spot_usd);
    expect(ratio).toBeCloseTo(misprint?.ratio ?? 0, 3);
  });

  it("of a session are the same in every range", () => {
    const whole = sha256(rows);
    const middle = session("2026-06-01T00Z");
    const parts = function* (): Generator<DemoQuote[]> {
      yield* demoHistory(0, middle - 1);
      yield* demoHistory(middle, middle);
      yield* demoHistory(middle + 1, LAST);
    };
    expect(sha256([...parts()].flat())).toBe(whole);
    expect([...demoHistory(DEMO_SESSION, DEMO_SESSION)]).toEqual([bySession.get(DEMO_SESSION)]);
    expect([...demoHistory(0, DEMO_FIRST_SESSION - 1)]).toEqual([]);
  });

  it("are the same on every platform", () => {
    expect(sha256(rows.slice(0, 1_000))).toBe(
      "ed6dbebea2addaf75107e5562e92cecb9514d702d2f239cc07373ca3790d4bf2",
    );
    // After five years, a difference in a last bit would be large.
    expect(sha256(bySession.get(DEMO_SESSION) ?? [])).toBe(
      "9c15511f940eb965a42a1c50b84f8792ec40fd8569c298e975e467f4debfdf14",
    );
  });

  it("survive being written and read as CSV", () => {
    const breaks = new Set(eventsOf("break").map((event) => event.session as Session));
    const near = [...bySession].filter(([at]) => breaks.has(at) || breaks.has(at + 1));
    const chunks = [...demoCsv(near.map(([, of]) => of))];
    expect(chunks[0]).toBe("id,session_utc,spot_usd,basis,as_of,break,low_usd,high_usd,inputs\r\n");
    expect(chunks).toHaveLength(1 + near.length);
    const read: Record<string, string>[] = parse(chunks.join(""), { columns: true });
    const filled = read.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([, text]) => text !== "")),
    );
    expect(filled).toEqual(near.flatMap(([, of]) => of));
    const texts = readDemoEvents().map(({ text }) => text);
    expect(texts.filter((text) => /["\r\n]/.test(text))).toEqual([]);
  });
});

describe("the random numbers", () => {
  it("have mean 0 and variance 1, within the limit", () => {
    const noise = createNoise(seedOf("a test"));
    const draws = Array.from({ length: 20_000 }, noise);
    const mean = draws.reduce((sum, draw) => sum + draw, 0) / draws.length;
    const variance = draws.reduce((sum, draw) => sum + draw * draw, 0) / draws.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);
    expect(Math.max(...draws.map(Math.abs))).toBeLessThanOrEqual(NOISE_LIMIT);
  });

  it("differ by name and by place", () => {
    expect(seedOf("segment DRAM")).not.toBe(seedOf("segment NAND"));
    const places = Array.from({ length: 1_000 }, (_, place) => uniformAt(seedOf("a"), place));
    expect(new Set(places).size).toBe(1_000);
    expect(Math.max(...places)).toBeLessThan(1);
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
  });
});
