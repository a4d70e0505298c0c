/** The parts of the composite's move in `snapshots diff`, against means of naive fractions. */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { indexMove } from "../../src/desk/index-move.ts";
import { unitsOf } from "../../src/market/decimal.ts";
import {
  fractionOf,
  HUNDRED,
  minus,
  over,
  plus,
  rounded,
  times,
  ZERO,
  type Fraction,
} from "./naive-fraction.ts";
import { runs } from "./runs.ts";

const usd = fc.oneof(fc.integer({ min: 1, max: 10 ** 15 }), fc.integer({ min: 1, max: 20 }));
const level = fc.record({ usd, base: usd });
/** A contract's figures in the older and in the newer index; null: it is no constituent. */
const contract = fc.record({
  old: fc.option(level, { freq: 5 }),
  now: fc.option(level, { freq: 5 }),
  isBroken: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.boolean()),
});

type Pairs = readonly (readonly [now: number, base: number])[];

/** 100 · the mean of now / base. */
function levelOf(pairs: Pairs): Fraction {
  const sum = pairs.reduce(
    (total, [now, base]) => plus(total, over(fractionOf(String(now)), fractionOf(String(base)))),
    ZERO,
  );
  return times(HUNDRED, over(sum, { over: BigInt(pairs.length), under: 1n }));
}

const pointsOf = (points: Fraction): number => Number(rounded(points, 4).slice(1));

test.prop([fc.array(contract, { maxLength: 9 })], runs(300))(
  "the parts equal the naive calculation's, and sum to the difference of the levels",
  (contracts) => {
    const items = contracts.map(({ old, now, isBroken }, at) => {
      const textOf = (one: typeof old) =>
        one && { id: `c${at}`, spot_usd: unitsOf(one.usd), base_usd: unitsOf(one.base) };
      return { id: `c${at}`, old: textOf(old), now: textOf(now), isBroken };
    });
    const sideOf = (side: "old" | "now") => {
      const contributions = items.flatMap((item) => item[side] ?? []);
      const pairs: Pairs = contributions.map((item) => [item.spot_usd, item.base_usd]);
      return {
        level: pairs.length === 0 ? null : pointsOf(levelOf(pairs)),
        chg_24h_pct: 0,
        chg_30d_pct: 0,
        session_utc: "2026-11-21T00:00:00.000Z",
        contributions,
      };
    };
    const [before, after] = [sideOf("old"), sideOf("now")];
    const broken = new Set(items.flatMap(({ id, isBroken }) => (isBroken ? [id] : [])));
    const found = indexMove(before, after, (id) => broken.has(id));
    const common = items.flatMap(({ id, old, now, isBroken }) =>
      old === null || now === null || isBroken ? [] : [{ id, old, now }],
    );
    const without = (ids: readonly { id: string }[]) =>
      ids.map(({ id }) => id).filter((id) => !common.some((item) => item.id === id));
    expect(found.entered).toEqual(without(after.contributions));
    expect(found.left).toEqual(without(before.contributions));
    if (before.level === null || after.level === null) {
      expect([
        found.price_points,
        found.base_points,
        found.constituents_points,
        found.movers,
      ]).toEqual([null, null, null, null]);
      return;
    }
    const meanOf = (pairOf: (item: (typeof common)[0]) => Pairs[0]): Fraction =>
      common.length === 0 ? ZERO : levelOf(common.map(pairOf));
    const then = meanOf(({ old }) => [old.spot_usd, old.base_usd]);
    const priced = meanOf(({ old, now }) => [now.spot_usd, old.base_usd]);
    const rebased = meanOf(({ now }) => [now.spot_usd, now.base_usd]);
    const pairsOf = (side: typeof before): Pairs =>
      side.contributions.map((item) => [item.spot_usd, item.base_usd]);
    const [from, to] = [levelOf(pairsOf(before)), levelOf(pairsOf(after))];
    const parts = [
      minus(priced, then),
      minus(rebased, priced),
      plus(minus(to, rebased), minus(then, from)),
    ];
    expect(parts.reduce(plus)).toEqual(minus(to, from));
    expect([found.price_points, found.base_points, found.constituents_points]).toEqual(
      parts.map(pointsOf),
    );
    const moved = common.map(({ id, old, now }) => {
      const points = minus(
        levelOf([[now.spot_usd, old.base_usd]]),
        levelOf([[old.spot_usd, old.base_usd]]),
      );
      const share = over(points, { over: BigInt(common.length), under: 1n });
      return { id, points: pointsOf(share) };
    });
    expect(new Set(found.movers)).toEqual(new Set(moved.filter(({ points }) => points !== 0)));
  },
);
