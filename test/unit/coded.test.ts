/** The gzip-coded form of files. Which one a caller gets is in test/http/codings.http. */
import { constants, gunzipSync, gzipSync, inflateRawSync } from "node:zlib";
import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { coded, codedForm, inflated, slicesOf, requireForm } from "../../src/snapshot/coded.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { unfitIn, type FileEntry } from "../../src/snapshot/manifest.ts";

const rowsOf = (id: string): Buffer => Buffer.from(`${id},2026-11-21,1.25\r\n`.repeat(2_000));
const HEADER = Buffer.from("contract_id,date,close_usd\r\n");
const IDS = ["alpha", "beta", "gamma"];
const PIECES = [{ id: null, bytes: HEADER }, ...IDS.map((id) => ({ id, bytes: rowsOf(id) }))];
const PLAIN = Buffer.concat(PIECES.map(({ bytes }) => bytes));

const entryOf = (parts: NonNullable<FileEntry["parts"]>): FileEntry => ({
  path: "pro/history.csv",
  bytes: PLAIN.length,
  sha256: sha256Hex(PLAIN),
  media_type: "text/csv",
  tier: "pro",
  stored: "gzip",
  parts,
});

test.each([0, 1, 70_000])("%i bytes: one member, no name, time 0", async (size) => {
  const plain = Buffer.alloc(size, "level ");
  const code = await coded(plain);
  expect(gunzipSync(code)).toEqual(plain);
  expect([...code.subarray(0, 8)]).toEqual([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
  expect(code.readUInt32LE(code.length - 4)).toBe(size);
  expect(await inflated(code, size, "x")).toEqual(plain);
});

test("pieces are one member, and each part is read alone", async () => {
  const { bytes: code, parts } = codedForm(PIECES);
  expect(gunzipSync(code)).toEqual(PLAIN);
  expect(parts.map(({ id }) => id)).toEqual(IDS);
  for (const [place, part] of parts.entries()) {
    const next = parts[place + 1] ?? { at: PLAIN.length, gzip_at: code.length - 8 };
    const piece = code.subarray(part.gzip_at, next.gzip_at);
    expect(part.sha256).toBe(sha256Hex(piece));
    const rows = inflateRawSync(piece, { finishFlush: constants.Z_SYNC_FLUSH });
    expect(rows).toEqual(rowsOf(part.id));
    expect(rows).toEqual(PLAIN.subarray(part.at, next.at));
  }
  await requireForm(code, entryOf(parts), "x");
});

test("no more is inflated than the file has", async () => {
  const bomb = await coded(Buffer.alloc(50_000_000));
  expect(bomb.length).toBeLessThan(100_000);
  await expect(inflated(bomb, 1_000, "x")).rejects.toThrow("x does not inflate to 1000 bytes");
  await expect(inflated(await coded(PLAIN), PLAIN.length + 1, "x")).rejects.toThrow(
    `x inflates to ${PLAIN.length} bytes, expected ${PLAIN.length + 1}`,
  );
});

test("a form that is cut, is of other bytes or has other parts is refused", async () => {
  const { bytes: code, parts } = codedForm(PIECES);
  const entry = entryOf(parts);
  const damaged = Buffer.from(code);
  damaged.writeUInt32LE(1, code.length - 8);
  for (const wrong of [code.subarray(0, -9), damaged, Buffer.from("plain")]) {
    await expect(requireForm(wrong, entry, "x")).rejects.toThrow(/^x does not inflate to/);
  }
  const other = gzipSync(Buffer.alloc(PLAIN.length));
  await expect(requireForm(other, entry, "x")).rejects.toThrow(
    /inflated bytes have another SHA-256/,
  );
  const [first, second] = parts as [(typeof parts)[number], (typeof parts)[number]];
  for (const changed of [
    { ...second, sha256: first.sha256 },
    { ...second, at: second.at + 1 },
    { ...second, gzip_at: second.gzip_at + 1 },
  ]) {
    const moved = entryOf(parts.with(1, changed));
    await expect(requireForm(code, moved, "x")).rejects.toThrow(/^x(?:, part | is damaged: part )/);
  }
});

describe("the parts of a manifest", () => {
  const { bytes: code, parts } = codedForm(PIECES);
  const honest: FileEntry = {
    ...entryOf(parts),
    gzip: { bytes: code.length, sha256: sha256Hex(code) },
  };
  const unfit = (changed: Partial<FileEntry>): string | null =>
    unfitIn({ files: [{ ...honest, ...changed }], ledger: [], inputs: [] });
  const [a, b, c] = parts as [Part, Part, Part];
  type Part = (typeof parts)[number];

  test("of a publisher are fit, also of a file without rows, and of one without a header", () => {
    expect(unfit({})).toBeNull();
    expect(unfit({ parts: [] })).toBeNull();
    const { bytes, ...form } = codedForm(PIECES.slice(1));
    const gzip = { bytes: bytes.length, sha256: sha256Hex(bytes) };
    expect(unfit({ ...form.plain, parts: form.parts, gzip })).toBeNull();
  });

  const MANY = Array.from({ length: 5_000 }, (_, at) => ({ ...b, at: 100 + at, gzip_at: 60 + at }));
  const large = { bytes: 400_000_000, gzip: { bytes: 400_000, sha256: honest.sha256 } };
  test.each<[string, Partial<FileEntry>, string]>([
    ["two that are equal", { parts: [a, b, b] }, 'part "beta"'],
    ["an empty one", { parts: [a, { ...b, at: a.at }, c] }, 'part "alpha"'],
    ["one without coded bytes", { parts: [a, { ...b, gzip_at: a.gzip_at }, c] }, 'part "alpha"'],
    ["descending ones", { parts: [a, c, b] }, 'part "gamma"'],
    ["descending coded ones", { parts: [a, { ...b, gzip_at: c.gzip_at + 1 }, c] }, 'part "beta"'],
    ["one beyond the end", { parts: [a, b, { ...c, at: PLAIN.length + 1 }] }, 'part "gamma"'],
    ["one at the end", { parts: [a, b, { ...c, at: PLAIN.length }] }, 'part "gamma"'],
    ["one in the trailer", { parts: [a, b, { ...c, gzip_at: code.length - 8 }] }, 'part "gamma"'],
    ["one in the header of gzip", { parts: [{ ...a, gzip_at: 9 }, b, c] }, 'part "alpha"'],
    ["one beside many of the same contract", { parts: MANY }, 'part "beta"'],
    ["of a file without a coded form", { gzip: undefined, stored: undefined }, 'part "gamma"'],
    ["behind a large header", { ...large, parts: [{ ...a, at: 64_001 }] }, "the header"],
    ["a large one", { ...large, parts: [{ ...a, at: 100 }] }, 'part "alpha"'],
  ])("%s: unfit", (_what, changed, expected) => {
    expect(unfit(changed)).toMatch(new RegExp(`^${expected}.* pro/history.csv .*expected `));
  });

  const places = (max: number) => fc.oneof(fc.nat(max), fc.nat(max), fc.nat(max), fc.maxSafeNat());
  const lie = fc.record({
    id: fc.constantFrom(..."abcdefgh"),
    at: places(PLAIN.length + 100),
    gzip_at: places(code.length),
  });
  property.prop([fc.array(lie, { maxLength: 4 }), fc.boolean()])(
    "whatever is fit inflates to no more than the file, each byte once",
    (lies, isSorted) => {
      const ats = lies.map(({ at }) => at).toSorted((x, y) => x - y);
      const codedAts = lies.map(({ gzip_at: at }) => at).toSorted((x, y) => x - y);
      const told = lies.map((part, at) => ({
        ...part,
        sha256: honest.sha256,
        ...(isSorted && { at: ats[at] as number, gzip_at: codedAts[at] as number }),
      }));
      const file = { ...honest, parts: told };
      if (unfit({ parts: told }) !== null) return;
      let [from, codedFrom] = [0, 10];
      for (const part of slicesOf(file)) {
        expect(part.at).toBeGreaterThanOrEqual(from);
        expect(part.coded.at).toBeGreaterThanOrEqual(codedFrom);
        expect(part.bytes).toBeGreaterThan(0);
        [from, codedFrom] = [part.at + part.bytes, part.coded.end];
        expect(codedFrom).toBeGreaterThan(part.coded.at);
      }
      expect(from).toBeLessThanOrEqual(file.bytes);
      expect(codedFrom).toBeLessThanOrEqual(code.length - 8);
      expect(new Set(told.map(({ id }) => id)).size).toBe(told.length);
    },
  );
});
