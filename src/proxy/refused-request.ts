/**
 * Requests that never become one: what Node's HTTP parser refuses, and CONNECT. They too get a
 * problem document and the quota field, written to the socket by hand.
 */
import { STATUS_CODES, type Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { Gatekeeper } from "../state/gatekeeper.ts";
import type { Clock } from "../lib/clock.ts";
import { callerAt } from "./caller.ts";
import { clientAddress, shortened } from "./client-address.ts";
import type { Connections } from "./connections.ts";
import type { Logger } from "./ops/log.ts";
import type { ProxyMetrics } from "./ops/metrics.ts";
import { ALLOWED_METHODS, problemReply } from "./answer.ts";
import { deny, type Denial } from "./problems.ts";
import { knownRemaining } from "./quota.ts";

/** How long, and for how much, a refused sender is listened to so that it gets to read the answer. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 4 * 1024 * 1024;

interface RefusalOptions {
  readonly gatekeeper: Gatekeeper;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProxyMetrics;
}

/** Answers on every socket that `server` gives up; such answers are logged and counted like others. */
export function answerRefusedRequests(
  server: Server,
  connections: Connections,
  { gatekeeper, clock, log, metrics }: RefusalOptions,
): void {
  /** Node's timers, and its parser, may complain about one connection more than once. */
  const refused = new WeakSet<Duplex>();
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Who broke off, or failed in the TLS handshake, could not read an answer.
    if (!/^(?:HPE|ERR_HTTP)_/.test(error.code ?? "")) socket.destroy();
    else refuse(socket, denialOf(error.code));
  });
  server.on("connect", (_request, socket: Duplex) => {
    refuse(socket, deny("method_not_allowed", `Method CONNECT: expected ${ALLOWED_METHODS}.`));
  });

  /** Requests that came before on this connection get their answers first. */
  function refuse(socket: Duplex, denial: Denial): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    stopParsing(socket);
    connections.afterAnswers(socket as Socket, () => answer(socket, denial));
  }

  function answer(socket: Duplex, denial: Denial): void {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const nowMs = clock.now();
    const startedAt = performance.now();
    const address = clientAddress((socket as Socket).remoteAddress, undefined, 0);
    const caller = callerAt(address, gatekeeper, nowMs);
    const left = knownRemaining(caller, gatekeeper, nowMs);
    const { status, fields, body } = problemReply(denial);
    const all = [...fields, "x-ratelimit-remaining", String(left), "connection", "close"];
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    for (let at = 0; at < all.length; at += 2) head += `${all[at]}: ${all[at + 1]}\r\n`;
    socket.end(Buffer.concat([Buffer.from(`${head}\r\n`), body as Buffer]));
    linger(socket);
    const { code } = denial;
    const line = { method: undefined, route: "(none)", status, code, account: null, tier: "free" };
    const durationMs = performance.now() - startedAt;
    metrics.observe(line.route, line.tier, status, durationMs);
    if (log.wantsRequest(code)) log.request({ ...line, from: shortened(address), durationMs });
  }
}

/**
 * Reads on for a moment before the connection goes: closing it with bytes unread would make the
 * sender's system discard the answer.
 */
function linger(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  socket.resume();
}

/**
 * What comes from now on is dropped, and nothing is read until `resume`. Node's server no longer sees
 * that the sender has ended its side: it would close the connection after the answers before this one.
 */
function stopParsing(socket: Duplex): void {
  let bytes = 0;
  socket.on("error", () => socket.destroy());
  socket.removeAllListeners("data").removeAllListeners("end");
  socket.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > LINGER_BYTES) socket.destroy();
  });
  socket.pause();
}

/** By the code of the error with which Node gave the request up. */
function denialOf(errorCode: string | undefined): Denial {
  if (errorCode === "HPE_HEADER_OVERFLOW") {
    return deny("headers_too_large", "The request line and header fields are too large.");
  }
  if (errorCode === "ERR_HTTP_REQUEST_TIMEOUT") {
    return deny("request_timeout", "The request did not arrive in time.");
  }
  return deny("bad_request", "The request is not well-formed HTTP/1.1.");
}
