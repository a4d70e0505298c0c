/**
 * What waits for its readers, over all connections of a server. A reader that does not read keeps what
 * is written of its answers in memory, so the sum is bounded.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** One connection comes to a larger part only with requests that do not wait for answers. */
const SHARE = 1 / 16;

/** The answers that wait. */
export class Backlog {
  readonly #bytesMax: number;
  /** Bytes; the connection that has waited longest comes first. */
  readonly #waiting = new Map<Socket, number>();
  bytes = 0;
  /** How many connections were closed because too much waited. */
  closed = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Resolves when the reader has taken what is written, `bytes` in memory, or is gone. */
  taken(response: ServerResponse, bytes: number): Promise<void> {
    const { socket } = response.req;
    if (socket.destroyed) return Promise.resolve();
    const event = response.writableEnded ? "finish" : "drain";
    this.bytes += bytes;
    this.#waiting.set(socket, (this.#waiting.get(socket) ?? 0) + bytes);
    const taken = new Promise<void>((resolve) => {
      const goOn = (): void => {
        response.off(event, goOn);
        socket.off("close", goOn);
        this.#release(socket, bytes);
        resolve();
      };
      response.once(event, goOn);
      // Each answer that waits on the connection listens.
      socket.setMaxListeners(0).once("close", goOn);
    });
    while (this.bytes > this.#bytesMax) this.#close(this.#next());
    return taken;
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

  #close(socket: Socket): void {
    this.closed += 1;
    this.#release(socket, Infinity);
    socket.destroy();
  }

  /** A connection that is closed has released all before its answers do. */
  #release(socket: Socket, bytes: number): void {
    const waiting = this.#waiting.get(socket) ?? 0;
    this.bytes -= Math.min(bytes, waiting);
    if (bytes < waiting) this.#waiting.set(socket, waiting - bytes);
    else this.#waiting.delete(socket);
  }
}
