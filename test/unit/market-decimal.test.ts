import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { formatMicros, parseMicros, ratio, roundRatio } from "../../src/market/decimal.ts";
import { runs } from "../property/runs.ts";

const MAX_USD = 1e9;
const MAX_MICROS = 10 ** 15;

describe("parseMicros and formatMicros", () => {
  test.prop([fc.integer({ min: 0, max: MAX_MICROS })], runs(2_000))(
    "every level survives being written and read",
    (micros) => {
      const text = formatMicros(micros);
      expect(text).toMatch(/^(0|[1-9]\d*)(\.\d{0,5}[1-9])?$/);
      expect(parseMicros(text, MAX_USD)).toBe(micros);
      expect(Number(text)).toBe(micros / 1e6);
    },
  );

  test.prop([fc.bigInt(0n, 10n ** 15n), fc.nat(6)])(
    "ignores leading and trailing zeros",
    (micros, kept) => {
      const digits = micros.toString().padStart(7, "0");
      const shortest = digits.slice(-6).replace(/0+$/, "");
      const decimals = shortest.padEnd(Math.max(kept, shortest.length), "0");
      const text = `${digits.slice(0, -6)}${decimals === "" ? "" : `.${decimals}`}`;
      expect(parseMicros(text, MAX_USD)).toBe(Number(micros));
    },
  );

  it.each([
    ["0.000001", 1],
    ["12.50", 12_500_000],
    ["999999999.999999", 999_999_999_999_999],
    ["1000000000", MAX_MICROS],
    ["0.1", 100_000],
    ["0.3", 300_000],
  ])("reads %s", (text, micros) => expect(parseMicros(text, MAX_USD)).toBe(micros));

  it.each([
    "",
    " ",
    "-1",
    "+1",
    "1e3",
    "1,5",
    "1.",
    ".5",
    "1.0000001",
    "0x10",
    "NaN",
    "Infinity",
    " 1",
    "1 ",
    "1\n",
    "1_000",
    "１",
    "1000000000.000001",
    "99999999999",
  ])("does not guess at %j", (text) => expect(parseMicros(text, MAX_USD)).toBeNull());
});

describe("roundRatio", () => {
  it.each([
    [5n, 1_000n, 2, "0.01"],
    [-5n, 1_000n, 2, "-0.01"],
    [4_999n, 1_000_000n, 2, "0"],
    [-4_999n, 1_000_000n, 2, "0"],
    [15n, 10n, 0, "2"],
    [25n, 10n, 0, "3"],
    [-25n, 10n, 0, "-3"],
    [1n, 3n, 4, "0.3333"],
    [-2n, 3n, 4, "-0.6667"],
    [1_999_999n, 1_000_000n, 2, "2"],
    [0n, 7n, 6, "0"],
    [10n ** 40n, 1n, 6, `1${"0".repeat(40)}`],
    [100n, 1n, 2, "100"],
  ])("%s / %s to %s decimals is %s", (numerator, denominator, decimals, text) =>
    expect(roundRatio(ratio(numerator, denominator), decimals)).toBe(text),
  );

  test.prop([fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.bigInt(1n, 10n ** 24n), fc.nat(8)], {
    ...runs(2_000),
  })(
    "is the nearest decimal, halves away from zero, never -0",
    (numerator, denominator, decimals) => {
      const text = roundRatio(ratio(numerator, denominator), decimals);
      expect(text).toMatch(/^(?!-0$)-?(0|[1-9]\d*)(\.\d*[1-9])?$/);
      const units = inUnits(text, decimals);
      // |2·(x·10^d − units)| ≤ 1, and where it is 1 the units lie on the far side of zero.
      const twice = 2n * (numerator * 10n ** BigInt(decimals) - units * denominator);
      const size = twice < 0n ? -twice : twice;
      expect(size).toBeLessThanOrEqual(denominator);
      if (size === denominator) expect(twice > 0n).toBe(numerator < 0n);
    },
  );

  test.prop([fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.bigInt(1n, 10n ** 12n), fc.nat(6)])(
    "is odd: the text of −x is the text of x with the other sign",
    (numerator, denominator, decimals) => {
      const text = roundRatio(ratio(numerator, denominator), decimals);
      const turned = roundRatio(ratio(-numerator, denominator), decimals);
      expect(turned).toBe(text === "0" ? "0" : text.startsWith("-") ? text.slice(1) : `-${text}`);
    },
  );
});

function inUnits(text: string, decimals: number): bigint {
  const [whole = "", fraction = ""] = text.replace("-", "").split(".");
  const units = BigInt(whole + fraction.padEnd(decimals, "0"));
  return text.startsWith("-") ? -units : units;
}
