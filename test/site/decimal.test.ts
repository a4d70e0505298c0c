/** Arithmetic on decimals as text, against fractions of whole numbers. */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { roundRatio } from "../../src/market/decimal.ts";
import { changeOf, quotient, rounded } from "../../src/site/decimal.js";

const decimals = fc
  .tuple(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), fc.integer({ min: 0, max: 9 }))
  .map(([units, places]) => ({
    ratio: { numerator: units, denominator: 10n ** BigInt(places) },
    text: roundRatio({ numerator: units, denominator: 10n ** BigInt(places) }, places),
  }));

const shortest = (decimal: string | null): string =>
  String(decimal)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

test.prop([decimals, fc.integer({ min: 0, max: 6 })])(
  "a decimal is rounded half away from zero, to exactly so many places",
  ({ ratio, text }, places) => {
    const shown = rounded(text, places);
    expect(shown?.split(".")[1]?.length ?? 0).toBe(places);
    expect(shortest(shown)).toBe(roundRatio(ratio, places));
  },
);

test.prop([decimals])("a level's change is exact", ({ ratio, text }) => {
  const { numerator, denominator } = ratio;
  expect(shortest(changeOf(text))).toBe(
    roundRatio({ numerator: numerator - 100n * denominator, denominator }, 9),
  );
});

test.prop([fc.bigInt({ min: 0n, max: 10n ** 15n }), fc.bigInt({ min: 1n, max: 10n ** 9n })])(
  "a quotient is rounded to six places",
  (micros, thousandths) => {
    const micro = roundRatio({ numerator: micros, denominator: 1_000_000n }, 6);
    const thousandth = roundRatio({ numerator: thousandths, denominator: 1_000n }, 3);
    expect(shortest(quotient(micro, thousandth))).toBe(
      roundRatio({ numerator: micros, denominator: thousandths * 1_000n }, 6),
    );
  },
);

test("half is rounded away from zero on both sides, and nothing is -0", () => {
  const shown = ["108.815", "91.185", "99.995", "99.996", "100", "100.0049"].map((level) =>
    rounded(changeOf(level)),
  );
  expect(shown).toEqual(["8.82", "-8.82", "-0.01", "0.00", "0.00", "0.00"]);
  expect([rounded(null), changeOf(null)]).toEqual([null, null]);
});
