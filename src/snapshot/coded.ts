/**
 * The gzip-coded form of a file (RFC 1952): one member, without a name and with time 0. A file in pieces
 * has a full flush before each piece but the first, so that a piece can be inflated alone.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import {
  constants,
  crc32,
  deflateRawSync,
  gunzip,
  gzip,
  inflateRaw,
  inflateRawSync,
} from "node:zlib";
import { DamageError } from "../lib/errors.ts";
import { sha256Hex } from "./digest.ts";
import type { ObjectPart } from "../ports/store.ts";

export interface Piece {
  /** The contract whose rows these are; null: the file's header. */
  readonly id: string | null;
  readonly bytes: Uint8Array;
}

/** Where a contract's rows begin in a file, as in its entry in the manifest. */
interface SliceEntry {
  readonly id: string;
  readonly at: number;
  readonly gzip_at: number;
  readonly sha256: string;
}

/** What a manifest says of a coded form and its file. */
interface CodedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly gzip?: { readonly bytes: number } | undefined;
  readonly parts?: readonly SliceEntry[] | undefined;
}

const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** CRC-32 and size of the plain bytes. */
const TRAILER_BYTES = 8;

/**
 * Twice as fast as zlib's default level. Rows of prices repeat nearby text, and become smaller in a small
 * window: a near place takes fewer bits there.
 */
const CODING = { level: 4, windowBits: 13 };

const deflate = promisify(gzip);
const inflate = promisify(gunzip);
const inflatePiece = promisify(inflateRaw);

/**
 * The coded form of the pieces together, and what their file's entry says of them. No more than two pieces
 * are in memory. It waits for zlib: with hundreds of pieces, other threads take twice as much processor time.
 */
export function codedForm(pieces: Iterable<Piece>): {
  readonly bytes: Buffer;
  readonly plain: { readonly bytes: number; readonly sha256: string };
  readonly parts: SliceEntry[];
} {
  const codes: Buffer[] = [HEADER];
  const parts: SliceEntry[] = [];
  const hash = createHash("sha256");
  let crc = 0;
  let at = 0;
  let codedAt = HEADER.length;
  const each = pieces[Symbol.iterator]();
  for (let next = each.next(); !next.done;) {
    const { id, bytes } = next.value;
    next = each.next();
    const finishFlush = next.done ? constants.Z_FINISH : constants.Z_FULL_FLUSH;
    const code = deflateRawSync(bytes, { ...CODING, finishFlush });
    if (id !== null) parts.push({ id, at, gzip_at: codedAt, sha256: sha256Hex(code) });
    hash.update(bytes);
    crc = crc32(bytes, crc);
    at += bytes.length;
    codedAt += code.length;
    codes.push(code);
  }
  const trailer = Buffer.alloc(TRAILER_BYTES);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(at, 4);
  const plain = { bytes: at, sha256: hash.digest("hex") };
  return { bytes: Buffer.concat([...codes, trailer]), plain, parts };
}

/** A coded form of the bytes, made beside other work. */
export const coded = (bytes: Uint8Array): Promise<Buffer> => deflate(bytes, CODING);

/** The limit for an output of so many bytes. Some hosts count the buffer, which they double as it fills. */
const roomFor = (sizeBytes: number): number => 2 * sizeBytes + 65_536;

/**
 * The plain bytes of a coded form. Throws DamageError, which names `where`, unless they are as many as
 * `sizeBytes`: not many more are ever inflated.
 */
export async function inflated(
  code: Uint8Array,
  sizeBytes: number,
  where: string,
  by: (code: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer> = inflate,
): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await by(code, { maxOutputLength: roomFor(sizeBytes) });
  } catch (cause) {
    throw new DamageError(`${where} does not inflate to ${sizeBytes} bytes`, [], { cause });
  }
  if (bytes.length === sizeBytes) return bytes;
  throw new DamageError(`${where} inflates to ${bytes.length} bytes, expected ${sizeBytes}`);
}

/** Throws DamageError, which names `where`, unless this is the file's coded form, also in its slices. */
export async function requireForm(code: Buffer, file: CodedFile, where: string): Promise<void> {
  const plain = await inflated(code, file.bytes, where);
  if (sha256Hex(plain) !== file.sha256) {
    throw new DamageError(`${where} is damaged: its inflated bytes have another SHA-256`);
  }
  for (const { at, bytes: rowsBytes, coded: place, ...slice } of slicesOf(file)) {
    const piece = code.subarray(place.at, place.end);
    const alone = await inflatedSlice(piece, { ...slice, bytes: rowsBytes }, where);
    if (alone.equals(plain.subarray(at, at + rowsBytes))) continue;
    throw new DamageError(`${where} is damaged: part ${slice.id} is not the manifest's`);
  }
}

/** A contract's rows in a long file. */
export interface FileSlice {
  readonly id: string;
  /** Where they begin in the plain bytes, and how many they are. */
  readonly at: number;
  readonly bytes: number;
  /** Where they are in the coded form, and its SHA-256. */
  readonly coded: ObjectPart;
  readonly sha256: string;
}

export const slicesOf = ({ bytes, gzip, parts = [] }: CodedFile): FileSlice[] =>
  parts.map(({ id, at, gzip_at: codedAt, sha256 }, place) => {
    const end = { at: bytes, gzip_at: (gzip?.bytes ?? 0) - TRAILER_BYTES };
    const next = parts[place + 1] ?? end;
    return { id, at, bytes: next.at - at, coded: { at: codedAt, end: next.gzip_at }, sha256 };
  });

/**
 * The first slice that is no piece of the file, and the expected one; null: each is one. Slices that pass
 * inflate together to no more than the file.
 */
export function unfitSlice(file: CodedFile): string | null {
  const { path, bytes, gzip } = file;
  const ids = new Set<string>();
  for (const { id, at, bytes: rowsBytes, coded: place } of slicesOf(file)) {
    const isPiece = rowsBytes > 0 && place.at >= HEADER.length && place.end > place.at;
    if (!isPiece || ids.has(id)) {
      return (
        `part ${JSON.stringify(id)} of ${path} at ${at} (coded: ${place.at}), expected one part for each ` +
        `contract, ascending, within ${bytes} bytes (coded: ${gzip?.bytes ?? 0})`
      );
    }
    ids.add(id);
  }
  return null;
}

/** The bytes before the first slice, from their coded bytes alone. */
export const inflatedHeader = (piece: Buffer, sizeBytes: number, where: string): Promise<Buffer> =>
  inflated(piece.subarray(HEADER.length), sizeBytes, where, inflateFlushed);

const inflateFlushed = (code: Uint8Array, options: { maxOutputLength: number }): Promise<Buffer> =>
  inflatePiece(code, { ...options, finishFlush: constants.Z_SYNC_FLUSH });

/** The rows of a slice, from its coded bytes alone. Throws DamageError, which names `where`. */
export async function inflatedSlice(
  piece: Buffer,
  { id, bytes, sha256 }: Pick<FileSlice, "id" | "bytes" | "sha256">,
  where: string,
): Promise<Buffer> {
  if (sha256Hex(piece) === sha256) {
    return inflated(piece, bytes, `${where}, part ${id},`, inflateFlushed);
  }
  throw new DamageError(`${where} is damaged: part ${id} is not the manifest's`);
}

/** The rows of a part of a proven coded form. It waits for zlib, as codedForm does. Throws DamageError. */
export function inflatedAtOnce(
  code: Buffer,
  { id, bytes, coded: place }: FileSlice,
  where: string,
): Buffer {
  const options = { maxOutputLength: roomFor(bytes), finishFlush: constants.Z_SYNC_FLUSH };
  let rows: Buffer | null = null;
  let cause: unknown;
  try {
    rows = inflateRawSync(code.subarray(place.at, place.end), options);
  } catch (error) {
    cause = error;
  }
  if (rows?.length === bytes) return rows;
  const what = `${where}, part ${id}, does not inflate to ${bytes} bytes`;
  throw new DamageError(what, [], { cause });
}
