/**
 * Compares the published numbers with a second, naive calculation from the same raw rows: see
 * naive-market.ts, which shares no code with the program.
 */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { basketBody, parseBasketFile } from "../../src/render/basket.ts";
import type { Constituent } from "../../src/market/composite.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { expectNaive, expectSame, expectSumsUp, expectWorkbook } from "./against-naive.ts";
import { naiveIndex, naiveTier } from "./naive-market.ts";
import { ATTRIBUTION, PublishedFiles, exactJson, publishRaw, splitInput } from "./published.ts";
import { rawCases, utcOf, indexOf } from "./raw-markets.ts";

const weightTexts = fc.array(
  fc.oneof(
    fc.constantFrom("1", "0.000000001", "999999999.999999999", "3", "0.5"),
    fc.integer({ min: 1, max: 999_999_999 }).map(String),
    fc
      .tuple(fc.nat(999), fc.integer({ min: 1, max: 9 }))
      .map(([whole, tenth]) => `${whole}.${tenth}`),
  ),
  { minLength: 12, maxLength: 12 },
);
const order = fc.shuffledSubarray(Array.from({ length: 12 }, (_, at) => at));

/** As many billionths. */
const scaled = (weight: string): bigint => {
  const [whole = "", decimals = ""] = weight.split(".");
  return BigInt(whole + decimals.padEnd(9, "0"));
};

/** These tests take seconds, and longer on a busy machine. */
const TIMEOUT_MS = 180_000;

describe("the published numbers", () => {
  test.prop([rawCases, fc.boolean()], { numRuns: 100 })(
    "equal the naive calculation in every field of every tier",
    async ({ raw, sessionUtc }, withCloses) => {
      const store = new MemoryStore();
      const input = splitInput(raw, sessionUtc, withCloses);
      const maxCarryDays = raw.max_carry_days;
      const given = { ...input, contracts: raw.contracts, maxCarryDays };
      const result = await publishRaw(store, given, sessionUtc);
      await expectNaive(store, result, raw, sessionUtc);
    },
    TIMEOUT_MS,
  );

  test.prop([rawCases], { numRuns: 20 })(
    "are the same in the workbook",
    async (item) => {
      const { raw, sessionUtc } = item;
      const store = new MemoryStore();
      const input = splitInput(raw, sessionUtc, false);
      const maxCarryDays = raw.max_carry_days;
      const given = { ...input, contracts: raw.contracts, maxCarryDays };
      const result = await publishRaw(store, given, sessionUtc);
      await expectWorkbook(store, result, raw, sessionUtc);
    },
    TIMEOUT_MS,
  );

  test.prop([rawCases, order, weightTexts, fc.boolean()], { numRuns: 50 })(
    "of any basket equal the naive calculation",
    async ({ raw, sessionUtc }, picked, weights, areEqual) => {
      const store = new MemoryStore();
      const input = splitInput(raw, sessionUtc, false);
      const maxCarryDays = raw.max_carry_days;
      const given = { ...input, contracts: raw.contracts, maxCarryDays };
      const files = new PublishedFiles(store, await publishRaw(store, given, sessionUtc));
      const basket = parseBasketFile(await files.bytes("pro/basket.json"));

      const composite = naiveIndex(raw, sessionUtc, null);
      const ids = composite.contributions.map(({ id }) => id as string);
      const { memory, semiconductor } = naiveTier(raw, sessionUtc, "pro");
      expect([...basket.contracts.keys()]).toEqual(
        [...memory, ...semiconductor].map(({ id }) => id),
      );
      const entries = [...basket.contracts].flatMap(([id, entry]) =>
        "excluded" in entry ? [{ id, reason: entry.excluded }] : [],
      );
      expect(entries).toEqual(composite.excluded);

      const picks = picked.flatMap((at) => ids[at] ?? []);
      if (picks.length === 0) return;
      const texts = areEqual ? null : weights.slice(0, picks.length);
      const body = basketBody(
        basket,
        picks.map((id) => basket.contracts.get(id) as Constituent),
        texts === null ? picks.map(() => 1n) : texts.map(scaled),
        texts === null ? "equal" : "custom",
        0,
      );
      const found = exactJson(body);
      const expected = naiveIndex(raw, sessionUtc, picks, texts);
      expectSame(found, {
        session_utc: sessionUtc,
        delayed_sessions: "#0",
        license: found["license"],
        attribution: ATTRIBUTION,
        name: "basket",
        weighting: texts === null ? "equal" : "custom",
        ...expected,
      });
      expectSumsUp(expected);
    },
    TIMEOUT_MS,
  );

  test.prop([rawCases, fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 5 })], {
    numRuns: 40,
  })(
    "after a revision equal those of the corrected rows",
    async ({ raw, sessionUtc }, chosen) => {
      const store = new MemoryStore();
      const maxCarryDays = raw.max_carry_days;
      const input = {
        ...splitInput(raw, sessionUtc, false),
        contracts: raw.contracts,
        maxCarryDays,
      };
      await publishRaw(store, input, sessionUtc);

      const places = new Set(chosen.map((pick) => pick % raw.levels.length));
      const doubled = (usd: string): string => (usd === "7" ? "8" : "7");
      const levels = raw.levels.map((level, at) =>
        places.has(at) ? { ...level, spot_usd: doubled(level.spot_usd) } : level,
      );
      const revised = { ...raw, levels };
      const quotes = levels.filter((_, at) => places.has(at));
      const revision = {
        contracts: null,
        quotes,
        closes: [],
        maxCarryDays,
        revise: "Typing error",
      };
      const result = await publishRaw(store, revision, sessionUtc);
      expect(result.snapshot.revision).toBe(2);

      const corrections = Map.groupBy(
        raw.levels.flatMap((old, at) => {
          if (!places.has(at)) return [];
          const [whole = "", decimals = ""] = old.spot_usd.split(".");
          const shortest = `${whole}.${decimals}`.replace(/\.?0*$/, "");
          return {
            id: old.id,
            session_utc: old.session_utc,
            old_usd: `#${shortest}`,
            new_usd: `#${doubled(old.spot_usd)}`,
            reason: "Typing error",
            corrected_in: `${utcOf(indexOf(sessionUtc)).slice(0, 13)}Z/r2`,
          };
        }),
        ({ id }) => id,
      );
      const rows = new Map(
        [...corrections].map(([id, items]) => [id, items.map(({ id: _id, ...item }) => item)]),
      );
      await expectNaive(store, result, revised, sessionUtc, rows);
    },
    TIMEOUT_MS,
  );

  test.prop([rawCases], { numRuns: 6 })(
    "are the same after one publish and after a publish for each session",
    async ({ raw, sessionUtc }) => {
      const common = { contracts: raw.contracts, closes: [], maxCarryDays: raw.max_carry_days };
      const input = { ...common, quotes: raw.levels };
      const once = await publishRaw(new MemoryStore(), input, sessionUtc);

      const store = new MemoryStore();
      const given = raw.levels.map(({ session_utc: at }) => at);
      for (const at of [...new Set(given)].filter((at) => at < sessionUtc).sort()) {
        const quotes = raw.levels.filter((level) => level.session_utc === at);
        await publishRaw(store, { ...common, quotes }, at);
      }
      const quotes = raw.levels.filter((level) => level.session_utc === sessionUtc);
      const last = await publishRaw(store, { ...common, quotes }, sessionUtc);
      expect(last.manifest.files).toEqual(once.manifest.files);
      const digestsOf = ({ ledger }: typeof last.manifest): string[] =>
        ledger.map(({ sha256 }) => sha256);
      expect(digestsOf(last.manifest)).toEqual(digestsOf(once.manifest));
      expect(last.manifest.identity).toBe(once.manifest.identity);
    },
    TIMEOUT_MS,
  );
});
