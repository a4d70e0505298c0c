/**
 * What waits for its readers, over all connections of a server. A reader that does not read keeps what
 * is written of its answers in memory, so the sum is bounded, and so is the time without a byte read.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Reply } from "../answers/answer.ts";

/** One connection comes to a larger part only with requests that do not wait for answers. */
const SHARE = 1 / 16;
/** So much of an answer is written at once; the rest follows when the reader has taken it. */
const PIECE_BYTES = 65_536;
/** Pieces that a stream holds: the written one, the next, the one before its digest, one from the store. */
const HELD_BY_STREAM = 4;

export class Backlog {
  readonly #bytesMax: number;
  readonly #stalledMs: number;
  /** Bytes; the connection that has waited longest comes first. */
  readonly #waiting = new Map<Socket, number>();
  readonly #known = new WeakSet<Socket>();
  bytes = 0;
  /** How many connections were closed because too much waited. */
  closed = 0;

  /** A connection on which nothing moves for `stalledMs` while an answer waits is closed. */
  constructor(bytesMax: number, stalledMs: number) {
    this.#bytesMax = bytesMax;
    this.#stalledMs = stalledMs;
  }

  /** The body as it is sent: a large one in pieces, each when the reader has taken the one before. */
  bodyFor({ socket }: IncomingMessage, body: Reply["body"]): Buffer | ReadableStream | null {
    if (body === null || (Buffer.isBuffer(body) && body.length <= PIECE_BYTES)) return body;
    const parts = Buffer.isBuffer(body) ? [body] : body;
    return ReadableStream.from(this.#pieces(parts, socket));
  }

  /** Counts what is written of an answer until the reader has taken it. */
  wait(response: ServerResponse): void {
    const { socket } = response.req;
    const bytes = response.writableLength;
    // Nearly all answers fit the socket's buffer at once and need no timeout.
    if (bytes === 0) return;
    socket.setTimeout(this.#stalledMs);
    this.#hold(socket, bytes);
    response.once("finish", () => this.#release(socket, bytes));
  }

  async *#pieces(
    parts: readonly Buffer[] | ReadableStream<Uint8Array>,
    socket: Socket,
  ): AsyncGenerator<Uint8Array> {
    socket.setTimeout(this.#stalledMs);
    const held = parts instanceof ReadableStream ? HELD_BY_STREAM : 1;
    for await (const part of parts) {
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        const piece = part.subarray(at, at + PIECE_BYTES);
        this.#hold(socket, held * piece.length);
        try {
          yield piece;
        } finally {
          this.#release(socket, held * piece.length);
        }
      }
    }
  }

  #hold(socket: Socket, bytes: number): void {
    if (socket.destroyed) return;
    if (!this.#known.has(socket)) {
      this.#known.add(socket);
      socket.once("close", () => this.#release(socket, Infinity));
    }
    this.bytes += bytes;
    this.#waiting.set(socket, (this.#waiting.get(socket) ?? 0) + bytes);
    while (this.bytes > this.#bytesMax) {
      const next = this.#next();
      this.closed += 1;
      this.#release(next, Infinity);
      next.destroy();
    }
  }

  /** The connection to close: the one that holds most, if more than its share, or has waited longest. */
  #next(): Socket {
    let [next] = this.#waiting.keys();
    let most = this.#bytesMax * SHARE;
    for (const [socket, bytes] of this.#waiting) {
      if (bytes > most) [next, most] = [socket, bytes];
    }
    return next as Socket;
  }

  /** A connection that is closed has released all before its answers do. */
  #release(socket: Socket, bytes: number): void {
    const waiting = this.#waiting.get(socket) ?? 0;
    this.bytes -= Math.min(bytes, waiting);
    if (bytes < waiting) this.#waiting.set(socket, waiting - bytes);
    else this.#waiting.delete(socket);
  }
}
