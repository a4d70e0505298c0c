/**
 * Tracks the open connections of a server and ends them. Node's own `close` is not used: it treats
 * a connection as idle as soon as the answer is in the socket's buffer, and would cut off a slow
 * reader.
 *
 * A request costs one map entry here and no listener: a connection sends its answers in the order
 * of their requests, so the newest answer shows whether any is unfinished.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Server as TlsServer } from "node:tls";
import { addressGroup, homeOf, type AddressGroup } from "../../core/client-address.ts";
import { CONNECTIONS_KEPT, CONNECTIONS_PER_HOME } from "../../lib/limits.ts";
import { addTo } from "../../lib/turns.ts";

/**
 * A listener whose connections ask for one thing after the other. Node raises all requests that a connection pipelines at
 * once (RFC 9112, 9.3.2): such a connection is closed.
 */
export function singly(listener: RequestListener): RequestListener {
  const busy = new WeakSet<Socket>();
  return (request, response) => {
    const { socket } = request;
    if (busy.has(socket)) {
      socket.destroy();
      return;
    }
    busy.add(socket);
    response.once("close", () => busy.delete(socket));
    listener(request, response);
  };
}

export class Connections {
  readonly #server: Server;
  /** Connections in a TLS handshake, by client address and port. HTTP does not see them yet. */
  readonly #handshaking = new Map<string, Socket>();
  /** The newest answer begun on each open connection; null before the first. */
  readonly #newest = new Map<Socket, ServerResponse | null>();
  /** Node's listeners that let an answer go on when the reader has taken the written bytes. */
  readonly #drains = new WeakMap<Socket, readonly (() => void)[]>();
  /** Connections that this server has ended and that are not closed yet. */
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
      // Each of many answers that wait on a connection listens for its end.
      socket.setMaxListeners(0);
      this.#drains.set(socket, socket.listeners("drain") as (() => void)[]);
      socket.once("close", () => this.#newest.delete(socket));
    });
    const onRequest: RequestListener = (request, response): void => {
      const { socket } = request;
      if (this.#closing) {
        // This socket was closed as idle while the request was in flight: no answer would arrive.
        if (this.#leaving.has(socket)) return;
        response.shouldKeepAlive = false;
        this.#endAfter(response, socket);
      }
      this.#newest.set(socket, response);
      listener(request, response);
    };
    server.on("request", onRequest);
    // A server may ignore an Expect other than 100-continue (RFC 9110, 10.1.1).
    server.on("checkExpectation", onRequest);
    // 100-continue gets the final status at once, because no request needs a body here. Node's own
    // 100 would land between header and body of an answer that waits for earlier ones. The
    // connection then ends: the client may still send the body, and the server cannot tell.
    server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      response.shouldKeepAlive = false;
      onRequest(request, response);
    });
  }

  /**
   * Lets the answers on a connection with CONNECT go on: Node hands it over as if none were pending, and
   * neither writes the rest of one nor ends a connection that stalls.
   */
  keepAnswering(socket: Socket): void {
    for (const drain of this.#drains.get(socket) ?? []) socket.on("drain", drain);
    socket.on("timeout", () => socket.destroy());
  }

  /** Calls `then` when the connection has sent all its answers; at once if none is pending. */
  afterAnswers(socket: Socket, then: () => void): void {
    const response = this.#newest.get(socket) ?? null;
    if (response === null || isSent(response)) then();
    else response.once("close", then);
  }

  /**
   * Stops accepting. Resolves when all answers are sent, at the latest after `deadlineMs`. For `lingerMs`
   * connections without a request may still send one: it was meant for the next proxy on the socket.
   */
  async close(deadlineMs: number, lingerMs = 0): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    const isOpen = this.#newest.size + this.#handshaking.size > 0;
    if (lingerMs > 0 && isOpen) await Promise.race([closed, delay(lingerMs)]);
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
    // All connections are closed; this stops the server's own timer.
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

/** Why a connection was closed at once: its address or home network has too many, or only the kept places are left. */
type TooMany = "of one address" | "of one network" | "in all";

/**
 * Closes a connection at once, also before a TLS handshake, if its address would have more than `maxEach`, its home
 * network (IPv6 /56) more than CONNECTIONS_PER_HOME times as many, or if only the places are left, of `maxAll`, that are
 * kept for networks without any. `onRefused` gets the address.
 */
export function limitConnections(
  server: Server,
  maxAll: number,
  maxEach: number,
  onRefused: (address: AddressGroup, why: TooMany) => void,
): void {
  const open = new Map<string, number>();
  const usualMax = maxAll - Math.floor(maxAll * CONNECTIONS_KEPT);
  const add = (names: readonly string[], change: number): void => {
    for (const name of names) addTo(open, name, change);
  };
  const countOf = (name: string): number => open.get(name) ?? 0;
  server.on("connection", (socket: Socket) => {
    const address = addressGroup(socket.remoteAddress ?? "");
    const home = homeOf(address);
    const why =
      countOf(address) >= maxEach
        ? "of one address"
        : countOf(home) >= maxEach * CONNECTIONS_PER_HOME
          ? "of one network"
          : countOf("") >= usualMax && countOf(home) > 0
            ? "in all"
            : null;
    if (why !== null) {
      socket.destroy();
      onRefused(address, why);
      return;
    }
    // An IPv4 address is its own network.
    const names = [...new Set(["", address, home])];
    add(names, 1);
    socket.once("close", () => add(names, -1));
  });
}

const clientOf = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort}`;

/** Whether the operating system has the whole answer, or the answer was abandoned. */
const isSent = (response: ServerResponse): boolean =>
  response.writableFinished || response.destroyed;
