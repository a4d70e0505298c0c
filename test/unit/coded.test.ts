/** The gzip-coded form of files. Which one a caller gets is in test/http/semantics.test.ts. */
import { constants, gunzipSync, gzipSync, inflateRawSync } from "node:zlib";
import { expect, test } from "vitest";
import { coded, codedForm, inflated, requireForm } from "../../src/snapshot/coded.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import type { FileEntry } from "../../src/snapshot/manifest.ts";

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
  await expect(requireForm(other, entry, "x")).rejects.toThrow(/inflates to has another SHA-256/);
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
