/**
 * The open connections of a server, and how they come to an end. Node's own `close` is not used:
 * it counts a connection as idle as soon as its answer is handed over, and would cut off what a
 * slow reader has not received yet.
 */
import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Server as TlsServer } from "node:tls";

export class Connections {
  readonly #server: Server;
  /** Answers not yet wholly given to the operating system, by connection. */
  readonly #unfinished = new Map<Socket, number>();
  #closing = false;

  /** Construct it before other listeners are added to the server. */
  constructor(server: Server) {
    this.#server = server;
    const opened = server instanceof TlsServer ? "secureConnection" : "connection";
    server.on(opened, (socket: Socket) => {
      this.#unfinished.set(socket, 0);
      socket.once("close", () => this.#unfinished.delete(socket));
    });
    server.on("request", ({ socket }, response) => {
      this.#count(socket, 1);
      response.once("close", () => this.#count(socket, -1));
    });
  }

  /** Whether an answer is being sent on this connection. */
  isBusy(socket: Socket): boolean {
    return (this.#unfinished.get(socket) ?? 0) > 0;
  }

  /** Stops accepting, and resolves when all answers are sent, or after `deadlineMs` at the latest. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    for (const [socket, unfinished] of this.#unfinished) {
      if (unfinished === 0) socket.destroySoon();
    }
    const force = setTimeout(() => {
      for (const socket of this.#unfinished.keys()) socket.destroy();
    }, deadlineMs);
    await closed;
    clearTimeout(force);
    // Stops the server's own timer; there is nothing left to close.
    this.#server.close();
  }

  #count(socket: Socket, step: 1 | -1): void {
    const before = this.#unfinished.get(socket);
    if (before === undefined) return;
    this.#unfinished.set(socket, before + step);
    if (this.#closing && before + step === 0) socket.destroySoon();
  }
}
