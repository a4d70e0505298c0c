/**
 * Streams a stored file that is not held in memory. Loading verified it once, and each stream
 * verifies it again. The last chunk waits until the digest is right, so that a damaged file never
 * arrives complete: the stream fails, the connection ends before its content-length, and the client
 * sees the error. The same holds for a part of a file, so the whole file is read for each part.
 */
import { createHash } from "node:crypto";
import {
  QUICK_BYTES_MAX,
  type ByteRange,
  type OpenBody,
  type OpenStream,
} from "../core/serve/stream.ts";
import { ChipboardError, DamageError } from "../lib/errors.ts";
import type { Place } from "../lib/turns.ts";
import { inflated } from "../snapshot/coded.ts";
import type { FileEntry } from "../snapshot/manifest.ts";
import { byteStream } from "../store/byte-stream.ts";

const inflatingBody = <B extends OpenBody>(plainBytes: number, body: B): B =>
  Object.assign(body, { isLaborious: plainBytes > QUICK_BYTES_MAX });

const WHOLE: ByteRange = { first: 0, last: Infinity };

/**
 * Passes the bytes of `range` on, each piece at a turn of the place. If the whole file
 * has more than `bytes` bytes, or another SHA-256 (hex), it calls `onDamage` and fails with DamageError
 * before the last chunk.
 */
export function verifyingStream(
  { sha256, bytes: bytesMax }: Pick<FileEntry, "sha256" | "bytes">,
  where: string,
  onDamage: (error: DamageError) => void,
  place: Place,
  { first, last }: ByteRange = WHOLE,
): TransformStream<Uint8Array, Uint8Array> {
  const hash = createHash("sha256");
  let readBytes = 0;
  let held: Uint8Array | null = null;
  const fail = (): never => {
    const error = new DamageError(`${where} is damaged: its SHA-256 is not ${sha256}`);
    onDamage(error);
    throw error;
  };
  return new TransformStream({
    async transform(piece, controller) {
      await place.turn();
      hash.update(piece);
      const from = Math.max(0, first - readBytes);
      const wanted = piece.subarray(from, Math.max(0, last + 1 - readBytes));
      readBytes += piece.length;
      if (readBytes > bytesMax) fail();
      if (wanted.length === 0) return;
      if (held !== null) controller.enqueue(held);
      held = wanted;
    },
    flush(controller) {
      if (hash.digest("hex") !== sha256) fail();
      if (held !== null) controller.enqueue(held);
    },
  });
}

/**
 * The plain bytes of a coded form, inflated for each answer. `onDamage` receives the error if they are not
 * the file's.
 */
export const inflateEach = (
  code: OpenStream,
  file: Pick<FileEntry, "sha256" | "bytes">,
  where: string,
  onDamage: (error: DamageError) => void,
): OpenStream =>
  inflatingBody(file.bytes, async (place, range) =>
    unzip(await code(place), where, onDamage).pipeThrough(
      verifyingStream(file, where, onDamage, place, range),
    ),
  );

/**
 * The plain bytes of a coded form in memory that was proven before. They are inflated when somebody asks
 * for them, and all who ask afterwards, until the last of them is answered, get the same bytes: so however many read
 * slowly, the file is in memory a few times at most.
 */
export function inflateOnce(code: Uint8Array, sizeBytes: number, where: string): OpenBody {
  if (sizeBytes <= QUICK_BYTES_MAX) return () => inflated(code, sizeBytes, where);
  let bytes: WeakRef<Uint8Array> | undefined;
  const inflate = async (): Promise<Uint8Array> => {
    const known = bytes?.deref();
    if (known !== undefined) return known;
    const plain = await inflated(code, sizeBytes, where);
    bytes = new WeakRef(plain);
    return plain;
  };
  return inflatingBody(sizeBytes, async (place) => bytes?.deref() ?? place.run(inflate));
}

/** A stream of bytes in memory. */
export const streamOf =
  (bytes: Uint8Array): OpenStream =>
  async () =>
    ReadableStream.from([bytes]);

function unzip(
  code: ReadableStream<Uint8Array>,
  where: string,
  onDamage: (error: DamageError) => void,
): ReadableStream<Uint8Array> {
  const reader = code.pipeThrough(new DecompressionStream("gzip")).getReader();
  const read = async (): Promise<Uint8Array | null> => {
    try {
      return (await reader.read()).value ?? null;
    } catch (cause) {
      if (cause instanceof ChipboardError) throw cause;
      const error = new DamageError(`${where} is damaged: it does not inflate`, [], { cause });
      onDamage(error);
      throw error;
    }
  };
  // After an error there is nothing to cancel.
  return byteStream({ read, close: () => reader.cancel().catch(() => {}) });
}
