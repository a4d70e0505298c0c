/**
 * Compares the published numbers with a second, naive calculation from the same raw rows: see
 * naive-market.ts, which shares no code with the program.
 */
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { basketBody, parseBasketFile } from "../../src/render/basket-file.ts";
import { WEIGHTINGS } from "../../src/market/composite.ts";
import type { BasketItem } from "../../src/market/composite.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  expectNaive,
  expectSame,
  expectSumsUp,
  expectWorkbook,
  type CorrectionRow,
} from "./against-naive.ts";
import type { RawLevel } from "./naive-levels.ts";
import { naiveIndex, naiveTier, type NaiveIndex } from "./naive-market.ts";
import { naiveQuantities } from "./naive-quantities.ts";
import {
  ATTRIBUTION,
  PublishedFiles,
  exactJson,
  publishRaw,
  splitInput,
  withoutEntries,
} from "./published.ts";
import { contractsBefore, earlierTerms, rawCases, withEarlierTerms } from "./raw-markets.ts";
import { runs } from "./runs.ts";

const amountTexts = fc.array(
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

const repriced = (level: RawLevel): RawLevel => ({
  ...level,
  spot_usd: level.spot_usd === "7" ? "8" : "7",
  low_usd: level.low_usd && "6.5",
  high_usd: level.high_usd && "8.000001",
});

/** The corrections of a revision that reprices these levels and is the entry `number`, by contract. */
function correctionRows(
  old: readonly RawLevel[],
  sessionUtc: string,
  number: number,
): ReadonlyMap<string, readonly CorrectionRow[]> {
  const byContract = Map.groupBy(old, ({ id }) => id);
  const rowOf = (level: RawLevel): CorrectionRow => {
    const [whole = "", decimals = ""] = level.spot_usd.split(".");
    return {
      session_utc: level.session_utc,
      old_usd: `#${`${whole}.${decimals}`.replace(/\.?0*$/, "")}`,
      new_usd: `#${repriced(level).spot_usd}`,
      reason: "Typing error",
      corrected_in: `${sessionUtc.slice(0, 13)}Z/r2`,
      publication: `#${number}`,
    };
  };
  return new Map([...byContract].map(([id, levels]) => [id, levels.map(rowOf)]));
}

describe("the published numbers", () => {
  test.prop([rawCases, fc.boolean()], runs(60))(
    "equal the naive calculation in every field of every tier",
    async ({ raw, sessionUtc }, withCloses) => {
      const store = new MemoryStore();
      const input = splitInput(raw, sessionUtc, withCloses);
      const maxCarryDays = raw.max_carry_days;
      const given = { ...input, contracts: raw.contracts, maxCarryDays };
      const result = await publishRaw(store, given, sessionUtc);
      await expectNaive(store, result, raw, sessionUtc);
    },
  );

  test.prop([rawCases], runs(20))("are the same in the workbook", async (item) => {
    const { raw, sessionUtc } = item;
    const store = new MemoryStore();
    const input = splitInput(raw, sessionUtc, false);
    const maxCarryDays = raw.max_carry_days;
    const given = { ...input, contracts: raw.contracts, maxCarryDays };
    const result = await publishRaw(store, given, sessionUtc);
    await expectWorkbook(store, result, raw, sessionUtc);
  });

  test.prop([rawCases, order, amountTexts, fc.constantFrom(...WEIGHTINGS)], runs(40))(
    "of any basket equal the naive calculation",
    async ({ raw, sessionUtc }, picked, amounts, weighting) => {
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
      const entries = [...basket.contracts.values()].flatMap(({ id, reason }) =>
        reason === null ? [] : [{ id, reason }],
      );
      expect(entries).toEqual(composite.excluded);

      // A weight is of a relative, which needs a base; a quantity only of a price.
      const pickable = weighting === "quantities" ? [...basket.contracts.keys()] : ids;
      const picks = picked.flatMap((at) => pickable[at] ?? []);
      if (picks.length === 0) return;
      const texts = amounts.slice(0, picks.length);
      const body = basketBody(
        basket,
        picks.map((id) => basket.contracts.get(id) as BasketItem),
        weighting === "equal" ? picks.map(() => 1n) : texts.map(scaled),
        weighting,
        0,
      );
      const found = exactJson(body);
      const expected =
        weighting === "quantities"
          ? (naiveQuantities(raw, sessionUtc, picks, texts) as NaiveIndex)
          : naiveIndex(raw, sessionUtc, picks, weighting === "equal" ? null : texts);
      expectSame(found, {
        session_utc: sessionUtc,
        delayed_sessions: "#0",
        license: found["license"],
        attribution: ATTRIBUTION,
        name: "basket",
        weighting,
        ...expected,
      });
      expectSumsUp(expected);
    },
  );

  test.prop([rawCases, fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 5 })], {
    ...runs(25),
  })(
    "after a revision equal the numbers of the corrected rows",
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
      const levels = raw.levels.map((level, at) => (places.has(at) ? repriced(level) : level));
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

      const old = raw.levels.filter((_, at) => places.has(at));
      const rows = correctionRows(old, sessionUtc, 2);
      await expectNaive(store, result, revised, sessionUtc, rows);
    },
  );

  test.prop(
    [
      rawCases,
      fc.nat(1_000_000),
      fc.array(earlierTerms, { minLength: 12, maxLength: 12 }),
      fc.boolean(),
    ],
    runs(20),
  )(
    "after a change of terms and ids equal the numbers of each tier's own session",
    async ({ raw, sessionUtc }, pick, terms, isRenamed) => {
      const sessions = [...new Set(raw.levels.map(({ session_utc }) => session_utc))].sort();
      const firstUtc = sessions[pick % sessions.length] as string;
      fc.pre(firstUtc < sessionUtc);
      const changed = withEarlierTerms(raw, firstUtc, terms);
      const common = { closes: [], maxCarryDays: raw.max_carry_days };

      const store = new MemoryStore();
      const idBefore = (id: string): string => (isRenamed ? `former-${id}` : id);
      const underIdBefore = <Row extends { id: string }>(row: Row): Row => ({
        ...row,
        id: idBefore(row.id),
      });
      const quotes = changed.levels
        .filter(({ session_utc: at }) => at <= firstUtc)
        .map(underIdBefore);
      const before = contractsBefore(changed).map(underIdBefore);
      await publishRaw(store, { ...common, contracts: before, quotes }, firstUtc);
      const later = changed.levels.filter(({ session_utc: at }) => at > firstUtc);
      const contracts = raw.contracts.map((contract) =>
        isRenamed ? { ...contract, formerly: idBefore(contract.id) } : contract,
      );
      const next = { ...common, contracts, quotes: later };
      const result = await publishRaw(store, next, sessionUtc);
      await expectNaive(store, result, changed, sessionUtc);
      await expectWorkbook(store, result, changed, sessionUtc);

      // A correction of the levels with the breaks keeps what the breaks changed.
      const isBreak = (level: RawLevel): boolean =>
        changed.earlier.get(level.id)?.until === level.session_utc;
      const corrected = changed.levels.filter(isBreak).map(repriced);
      if (corrected.length === 0) return;
      const revised = {
        ...changed,
        levels: changed.levels.map((level) => (isBreak(level) ? repriced(level) : level)),
      };
      const patches = corrected.map((level) => ({ ...level, break: null }));
      const revision = { ...common, contracts: null, quotes: patches, revise: "Typing error" };
      const second = await publishRaw(store, revision, sessionUtc);
      const rows = correctionRows(changed.levels.filter(isBreak), sessionUtc, 3);
      await expectNaive(store, second, revised, sessionUtc, rows);
    },
  );

  test.prop([rawCases], runs(6))(
    "are the same after one publish and after a publish for each session",
    async ({ raw, sessionUtc }) => {
      const common = { contracts: raw.contracts, closes: [], maxCarryDays: raw.max_carry_days };
      const input = { ...common, quotes: raw.levels };
      const storeOfOnce = new MemoryStore();
      const once = await publishRaw(storeOfOnce, input, sessionUtc);

      const store = new MemoryStore();
      const given = raw.levels.map(({ session_utc: at }) => at);
      for (const at of [...new Set(given)].filter((at) => at < sessionUtc).sort()) {
        const quotes = raw.levels.filter((level) => level.session_utc === at);
        await publishRaw(store, { ...common, quotes }, at);
      }
      const quotes = raw.levels.filter((level) => level.session_utc === sessionUtc);
      const last = await publishRaw(store, { ...common, quotes }, sessionUtc);
      // These depend on the run: the report names what the gates let through, levels and closes say which entry
      // brought them, and a month keeps the figures of the entry that settled it.
      const ofRuns = ["report.html", "series.json", "pro/levels.csv", "pro/indices.csv"];
      const filesOf = ({ files }: typeof last.manifest): typeof files =>
        files.filter(
          ({ path }) => !ofRuns.includes(path) && !/settlements|SHA256SUMS|\.xlsx$/.test(path),
        );
      expect(filesOf(last.manifest)).toEqual(filesOf(once.manifest));
      const digestsOf = ({ ledger }: typeof last.manifest): string[] =>
        ledger.map(({ sha256 }) => sha256);
      expect(digestsOf(last.manifest)).toEqual(digestsOf(once.manifest));
      const levelsOf = async (files: PublishedFiles) =>
        withoutEntries(await files.csv("pro/levels.csv"));
      const levels = await levelsOf(new PublishedFiles(storeOfOnce, once));
      expect(await levelsOf(new PublishedFiles(store, last))).toEqual(levels);
    },
  );
});
