/** How bodies that are not in memory are opened, and how payloads in pieces get another delay. */
import { joined } from "../../lib/bytes.ts";
import type { Place } from "../../lib/turns.ts";
import { raiseDelay } from "../../render/envelope.ts";

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
  (...asked: Parameters<OpenStream>): Promise<Uint8Array | ReadableStream<Uint8Array>>;
  /** Whether each answer takes so much work that it needs a place in the queue. */
  readonly isLaborious?: boolean;
  /** Whether nobody knows yet that there are such bytes. */
  readonly isUnread?: boolean;
}

/** To inflate so many plain bytes, or to choose lines of them, takes a fraction of a millisecond. */
export const QUICK_BYTES_MAX = 128 * 1024;

/** Passes a payload through and raises its `delayed_sessions`. */
export function raisingStream(sessions: number): TransformStream<Uint8Array, Uint8Array> {
  let head: Uint8Array | null = new Uint8Array();
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      if (head === null) return controller.enqueue(piece);
      head = joined([head, piece]);
      if (head.length < HEAD_BYTES) return;
      controller.enqueue(raiseDelay(head, sessions));
      head = null;
    },
    flush(controller) {
      if (head !== null) controller.enqueue(raiseDelay(head, sessions));
    },
  });
}
