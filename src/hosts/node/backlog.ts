/**
 * The bytes that wait for their readers, over all connections of a server. A reader that does not read keeps
 * the written part of its answers in memory, so the sum is bounded. The time without a byte read is also
 * bounded.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Body } from "../../core/outcome.ts";
import { addressOf } from "../../core/caller.ts";
import type { AddressGroup } from "../../core/client-address.ts";

/** Only a client that sends requests before it reads answers can exceed this share. */
const SHARE = 1 / 16;
/** So much of an answer is written at once; the rest follows when the reader has taken it. */
export const PIECE_BYTES = 65_536;
/** Pieces that a stream holds: the written one, the next, the one before its digest, one from the store. */
const HELD_BY_STREAM = 4;

/** What waits on a connection, and the address of its newest request. */
interface Waiting {
  readonly address: AddressGroup;
  readonly bytes: number;
}

export class Backlog {
  readonly #bytesMax: number;
  readonly #stalledMs: number;
  readonly #trustedHops: number;
  /** The connection that has waited longest comes first. */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #known = new WeakSet<Socket>();
  bytes = 0;
  /** How many connections were closed because too much waited. */
  closed = 0;

  /**
   * A connection on which nothing moves for `stalledMs` while an answer waits is closed. `trustedHops` as
   * for `clientAddress`.
   */
  constructor(bytesMax: number, stalledMs: number, trustedHops: number) {
    this.#bytesMax = bytesMax;
    this.#stalledMs = stalledMs;
    this.#trustedHops = trustedHops;
  }

  /** Counts the written bytes of an answer until the reader has taken them. */
  wait(response: ServerResponse): void {
    const bytes = response.writableLength;
    // Nearly all answers fit the socket's buffer at once and need no timeout.
    if (bytes === 0) return;
    const { socket } = response.req;
    socket.setTimeout(this.#stalledMs);
    this.#hold(socket, bytes, this.#addressOf(response.req));
    response.once("finish", () => this.#release(socket, bytes));
  }

  /** A body that does not fit a piece, or a stream: in pieces, each when the reader has taken the one before. */
  async *pieces(body: Body, request: IncomingMessage): AsyncGenerator<Uint8Array> {
    const { socket } = request;
    const address = this.#addressOf(request);
    socket.setTimeout(this.#stalledMs);
    const held = body instanceof ReadableStream ? HELD_BY_STREAM : 1;
    for await (const part of body instanceof Uint8Array ? [body] : body) {
      for (let at = 0; at < part.length; at += PIECE_BYTES) {
        const piece = part.subarray(at, at + PIECE_BYTES);
        this.#hold(socket, held * piece.length, address);
        try {
          yield piece;
        } finally {
          this.#release(socket, held * piece.length);
        }
      }
    }
  }

  #addressOf({ headers, socket }: IncomingMessage): AddressGroup {
    return addressOf({ headers, peer: socket.remoteAddress }, this.#trustedHops);
  }

  #hold(socket: Socket, bytes: number, address: AddressGroup): void {
    if (socket.destroyed) return;
    if (!this.#known.has(socket)) {
      this.#known.add(socket);
      socket.once("close", () => this.#release(socket, Infinity));
    }
    this.bytes += bytes;
    this.#waiting.set(socket, { address, bytes: (this.#waiting.get(socket)?.bytes ?? 0) + bytes });
    while (this.bytes > this.#bytesMax) {
      const next = this.#next();
      this.closed += 1;
      this.#release(next, Infinity);
      next.destroy();
    }
  }

  /**
   * The connection to close: the one that holds most, of the connections above their share and of the address
   * that holds most in all. Of equal ones it is the one that has waited longest.
   */
  #next(): Socket {
    const byAddress = new Map<AddressGroup, number>();
    for (const { address, bytes } of this.#waiting.values()) {
      byAddress.set(address, (byAddress.get(address) ?? 0) + bytes);
    }
    const [heaviest] = [...byAddress].reduce((first, next) => (next[1] > first[1] ? next : first));
    const share = this.#bytesMax * SHARE;
    let [found] = this.#waiting.keys();
    let most = 0;
    for (const [socket, { address, bytes }] of this.#waiting) {
      const mayGo = address === heaviest || bytes > share;
      if (mayGo && bytes > most) [found, most] = [socket, bytes];
    }
    return found as Socket;
  }

  /** A connection that is closed has released all before its answers do. */
  #release(socket: Socket, bytes: number): void {
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) return;
    this.bytes -= Math.min(bytes, waiting.bytes);
    if (bytes < waiting.bytes) {
      this.#waiting.set(socket, { ...waiting, bytes: waiting.bytes - bytes });
    } else {
      this.#waiting.delete(socket);
    }
  }
}
