import { fc, test as propertyTest } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import {
  createKey,
  keyIdOf,
  looksLikeKey,
  requireKeyId,
  toBase62,
} from "../../src/state/api-keys.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const fromBase62 = (text: string): bigint =>
  [...text].reduce((value, digit) => value * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
const secret = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("a key", () => {
  propertyTest.prop([secret])("holds its 256 bits and passes its own check", (bytes) => {
    const key = createKey(bytes);
    expect(key).toMatch(/^cbk_[0-9A-Za-z]{49}$/);
    expect(fromBase62(key.slice(4, 47))).toBe(BigInt(`0x${Buffer.from(bytes).toString("hex")}`));
    expect(looksLikeKey(key)).toBe(true);
    expect(() => requireKeyId(keyIdOf(key))).not.toThrow();
  });

  propertyTest.prop([secret, fc.nat(48), fc.nat(61)])(
    "with one character changed is no key",
    (bytes, place, digit) => {
      const key = createKey(bytes);
      const at = 4 + place;
      const changed = key.slice(0, at) + (DIGITS[digit] as string) + key.slice(at + 1);
      expect(looksLikeKey(changed)).toBe(changed === key);
    },
  );

  propertyTest.prop([fc.string({ unit: "binary" })])("is no arbitrary text", (text) => {
    expect(looksLikeKey(text)).toBe(false);
  });

  // CRC-32 of the text by an independent implementation (Python's zlib.crc32).
  test("has a known check sum", () => {
    const key = createKey(new Uint8Array(32));
    expect(key.slice(0, 47)).toBe(`cbk_${"0".repeat(43)}`);
    expect(fromBase62(key.slice(47))).toBe(2553117954n);
  });

  test("is different every time", () => {
    expect(new Set(Array.from({ length: 1_000 }, () => createKey())).size).toBe(1_000);
  });
});

propertyTest.prop([fc.bigInt({ min: 0n, max: 62n ** 6n - 1n })])("base 62 round trip", (value) => {
  expect(fromBase62(toBase62(value, 6))).toBe(value);
});
