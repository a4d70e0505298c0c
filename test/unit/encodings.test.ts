/** CP949, which Korean Excel writes, against codes that Python's codec of that name gives. */
import { expect, test } from "vitest";
import { koreanDecoder } from "../../src/feed/encodings.ts";

const whole = koreanDecoder();
const decoded = (...bytes: number[]): string => whole.decode(Uint8Array.from(bytes));

test.each([
  [0x8141, "갂"],
  [0x815a, "갴"],
  [0x8161, "갵"],
  [0x81fe, "괓"],
  [0x8c63, "똠"],
  [0xa0fe, "좤"],
  [0xa141, "좥"],
  [0xa1a0, "줎"],
  [0xb4a0, "킔"],
  [0xc652, "힣"],
  [0xb0a1, "가"],
  [0xc8fe, "힝"],
  [0xcaa1, "伽"],
  [0xa2e6, "€"],
  [0xa2e7, "®"],
])("%i is %s", (code, character) => {
  expect(decoded(code >> 8, code & 0xff)).toBe(character);
});

test("each of the 11,172 syllables has one code", () => {
  const syllables: string[] = [];
  for (let lead = 0x81; lead <= 0xfe; lead += 1)
    for (let trail = 0x41; trail <= 0xfe; trail += 1) {
      const text = decoded(lead, trail);
      if (/^[\uac00-\ud7a3]$/.test(text)) syllables.push(text);
    }
  expect([syllables.length, new Set(syllables).size]).toEqual([11_172, 11_172]);
});

test("pieces that end within a character give the same text", () => {
  const bytes = Uint8Array.of(0x61, 0x8c, 0x63, 0xb0, 0xa1, 0x2c, 0x31, 0x0a, 0xa2, 0xe6);
  const decoder = koreanDecoder();
  const pieces = [...bytes].map((byte) => decoder.decode(Uint8Array.of(byte), { stream: true }));
  expect([pieces.join(""), decoder.decode()]).toEqual(["a똠가,1\n€", ""]);
});

test("bytes that are no character are not text", () => {
  for (const bytes of [[0x8c], [0xff, 0x41], [0xb0, 0x31], [0x80], [0xc6, 0x53]])
    expect(decoded(...bytes)).toMatch(/[\ufffd\u0080-\u009f]/);
});
