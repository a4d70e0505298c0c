/**
 * Streams a stored file that is not held in memory. Loading verified it once, and each stream
 * verifies it again. The last chunk waits until the digest is right, so that a damaged file never
 * arrives complete: the stream fails, the connection ends before its content-length, and the client
 * sees the error. The same holds for a part of a file, so the whole file is read for each part.
 */
import { createHash } from "node:crypto";
import { raiseDelay } from "../../render/envelope.ts";
import { ChipboardError, DamageError } from "../../lib/errors.ts";
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

/** Resolves when the next piece may be worked on. Without one, nothing has to wait. */
export type Pace = () => Promise<void>;

/**
 * Opens a new stream of the body, or of a part of it, for one answer; each piece waits until `pace`
 * resolves. Rejects if it cannot.
 */
export type OpenStream = (range?: ByteRange, pace?: Pace) => Promise<ReadableStream<Uint8Array>>;

/** The same; a small body, whose answers are never parts, may come whole. */
export type OpenBody = (
  ...asked: Parameters<OpenStream>
) => Promise<Buffer | ReadableStream<Uint8Array>>;

const WHOLE: ByteRange = { first: 0, last: Infinity };

/**
 * Passes the bytes of `range` on, each piece when `pace` resolves. If the whole file
 * has more than `bytes` bytes, or another SHA-256 (hex), it calls `onDamage` and fails with DamageError
 * before the last chunk.
 */
export function verified(
  { sha256, bytes: bytesMax }: Pick<FileEntry, "sha256" | "bytes">,
  where: string,
  onDamage: (error: DamageError) => void,
  { first, last }: ByteRange = WHOLE,
  pace?: Pace,
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
      await pace?.();
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
 * A larger file is inflated as a stream: each answer to a slow reader keeps all of it in memory, and the
 * backlog counts the piece that waits (http/backlog.ts).
 */
const WHOLE_BYTES_MAX = 128 * 1024;

/**
 * The plain bytes of a coded form, inflated for each answer. `onDamage` receives the error if they are not
 * the file's.
 */
export const inflating =
  (
    code: Buffer | OpenStream,
    file: Pick<FileEntry, "sha256" | "bytes">,
    where: string,
    onDamage: (error: DamageError) => void,
  ): OpenBody =>
  async (range, pace) => {
    const isHeld = Buffer.isBuffer(code);
    if (isHeld && file.bytes <= WHOLE_BYTES_MAX) return inflated(code, file.bytes, where);
    const stream = isHeld ? ReadableStream.from([code]) : await code(undefined, pace);
    return unzipped(stream, where, onDamage).pipeThrough(verified(file, where, onDamage, range));
  };

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
