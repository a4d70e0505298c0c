/**
 * Streams a stored file that is not held in memory. Loading verified it once, and each stream
 * verifies it again. The last chunk waits until the digest is right, so that a damaged file never
 * arrives complete: the stream fails, the connection ends before its content-length, and the client
 * sees the error. The same holds for a part of a file, so the whole file is read for each part.
 */
import { createHash } from "node:crypto";
import { raiseDelay } from "../../render/envelope.ts";
import { ChipboardError, DamageError } from "../../lib/errors.ts";
import type { Place } from "../../lib/turns.ts";
import { inflated } from "../../snapshot/coded.ts";
import type { FileEntry } from "../../snapshot/manifest.ts";
import { byteStream } from "../../store/byte-stream.ts";

/** The part that raiseDelay must see is shorter than this. */
const HEAD_BYTES = 128;

/** Positions of bytes in a file, from 0. Both are part of the range. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Opens a new stream of the body, or of a part of it, for one answer; each piece waits for a turn of its
 * place. Rejects if it cannot.
 */
export type OpenStream = (place: Place, range?: ByteRange) => Promise<ReadableStream<Uint8Array>>;

/** The same; a body may come whole, also if a part was asked for. */
export interface OpenBody {
  (...asked: Parameters<OpenStream>): Promise<Buffer | ReadableStream<Uint8Array>>;
  /** Whether each answer takes so much work that it needs a place in the queue. */
  readonly isLaborious?: boolean;
  /** Whether nobody knows yet that there are such bytes. */
  readonly isUnread?: boolean;
}

/** To inflate so many plain bytes, or to choose lines of them, takes a fraction of a millisecond. */
export const QUICK_BYTES_MAX = 128 * 1024;

const inflatingBody = <B extends OpenBody>(plainBytes: number, body: B): B =>
  Object.assign(body, { isLaborious: plainBytes > QUICK_BYTES_MAX });

const WHOLE: ByteRange = { first: 0, last: Infinity };

/**
 * Passes the bytes of `range` on, each piece at a turn of the place. If the whole file
 * has more than `bytes` bytes, or another SHA-256 (hex), it calls `onDamage` and fails with DamageError
 * before the last chunk.
 */
export function verified(
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
export const inflating = (
  code: OpenStream,
  file: Pick<FileEntry, "sha256" | "bytes">,
  where: string,
  onDamage: (error: DamageError) => void,
): OpenStream =>
  inflatingBody(file.bytes, async (place, range) =>
    unzipped(await code(place), where, onDamage).pipeThrough(
      verified(file, where, onDamage, place, range),
    ),
  );

/**
 * The plain bytes of a coded form in memory that was proven before. They are inflated when somebody asks
 * for them, and all who ask until the last of them is answered get the same bytes: so however many read
 * slowly, the file is in memory once.
 */
export function inflatedOnce(code: Buffer, sizeBytes: number, where: string): OpenBody {
  if (sizeBytes <= QUICK_BYTES_MAX) return () => inflated(code, sizeBytes, where);
  let bytes: WeakRef<Buffer> | undefined;
  let making: Promise<Buffer> | null = null;
  const inflate = async (): Promise<Buffer> => {
    try {
      const plain = await inflated(code, sizeBytes, where);
      bytes = new WeakRef(plain);
      return plain;
    } finally {
      making = null;
    }
  };
  return inflatingBody(
    sizeBytes,
    async (place) => bytes?.deref() ?? place.run(() => (making ??= inflate())),
  );
}

/** A stream of bytes in memory. */
export const streamOf =
  (bytes: Buffer): OpenStream =>
  async () =>
    ReadableStream.from([bytes]);

function unzipped(
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

/** Passes a payload through and raises its `delayed_sessions`. */
export function raised(sessions: number): TransformStream<Uint8Array, Uint8Array> {
  let head: Buffer | null = Buffer.alloc(0);
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      if (head === null) return controller.enqueue(piece);
      head = Buffer.concat([head, piece]);
      if (head.length < HEAD_BYTES) return;
      controller.enqueue(raiseDelay(head, sessions));
      head = null;
    },
    flush(controller) {
      if (head !== null) controller.enqueue(raiseDelay(head, sessions));
    },
  });
}
