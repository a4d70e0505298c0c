/**
 * The open connections of a server, and how they come to an end. Node's own `close` is not used:
 * it counts a connection as idle as soon as its answer is handed over, and would cut off what a
 * slow reader has not received yet.
 *
 * An answer costs one note here and no listener: answers of a connection are sent in the order of
 * their requests, so the newest one tells whether any is unfinished.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { Server as TlsServer } from "node:tls";

/** The open connections of one server. */
export class Connections {
  readonly #server: Server;
  /** Connections in a TLS handshake, by the client's address and port: HTTP does not know them yet. */
  readonly #handshaking = new Map<string, Socket>();
  /** The newest answer begun on each open connection; null before the first. */
  readonly #newest = new Map<Socket, ServerResponse | null>();
  /** Those that are ended, though not gone yet. */
  readonly #leaving = new WeakSet<Socket>();
  #closing = false;

  /** Every request to `server` goes to `listener`. */
  constructor(server: Server, listener: RequestListener) {
    this.#server = server;
    if (server instanceof TlsServer) {
      server.on("connection", (socket: Socket) => {
        const client = clientOf(socket);
        this.#handshaking.set(client, socket);
        socket.once("close", () => this.#handshaking.delete(client));
      });
    }
    const opened = server instanceof TlsServer ? "secureConnection" : "connection";
    server.on(opened, (socket: Socket) => {
      this.#handshaking.delete(clientOf(socket));
      this.#newest.set(socket, null);
      socket.once("close", () => this.#newest.delete(socket));
    });
    const onRequest: RequestListener = (request, response): void => {
      const { socket } = request;
      if (this.#closing) {
        // This socket was closed as idle while the request was in flight: no answer would arrive.
        if (this.#leaving.has(socket)) return;
        this.#endAfter(response, socket);
      }
      this.#newest.set(socket, response);
      listener(request, response);
    };
    server.on("request", onRequest);
    // Expect other than 100-continue may be ignored (RFC 9110, 10.1.1).
    server.on("checkExpectation", onRequest);
    // And 100-continue is answered with the final status, since no content is wanted: Node's own
    // 100 would get between header and body of an answer that waits for others before it. Whether
    // the content comes all the same nobody knows, so the connection ends there.
    server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      response.shouldKeepAlive = false;
      onRequest(request, response);
    });
  }

  /** Calls `then` when all answers begun on this connection are sent: at once where none is left. */
  afterAnswers(socket: Socket, then: () => void): void {
    const response = this.#newest.get(socket) ?? null;
    if (response === null || isSent(response)) then();
    else response.once("close", then);
  }

  /** Stops accepting, and resolves when all answers are sent, or after `deadlineMs` at the latest. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    for (const [socket, response] of this.#newest) {
      if (response === null || isSent(response)) this.#letGo(socket);
      else this.#endAfter(response, socket);
    }
    for (const socket of this.#handshaking.values()) socket.destroy();
    const force = setTimeout(() => {
      for (const socket of this.#newest.keys()) socket.destroy();
    }, deadlineMs);
    await closed;
    clearTimeout(force);
    // Stops the server's own timer; there is nothing left to close.
    this.#server.close();
  }

  #endAfter(response: ServerResponse, socket: Socket): void {
    response.once("close", () => {
      if (this.#newest.get(socket) === response) this.#letGo(socket);
    });
  }

  #letGo(socket: Socket): void {
    this.#leaving.add(socket);
    socket.destroySoon();
  }
}

const clientOf = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort}`;

/** Wholly given to the operating system, or given up. */
const isSent = (response: ServerResponse): boolean =>
  response.writableFinished || response.destroyed;
