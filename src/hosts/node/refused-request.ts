/**
 * Answers requests that never reach the app: those that Node's HTTP parser refuses, and CONNECT.
 * They also get a problem document and the fields of every answer, written directly to the socket.
 */
import { STATUS_CODES, type Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { fieldsOf, refusal } from "../../core/answer.ts";
import { ALLOWED_METHODS, PROGRAMS } from "../../core/problem-reply.ts";
import type { World } from "../../core/world.ts";
import { deny, type Denial } from "../../public/problems.ts";
import type { Connections } from "./connections.ts";
import { HTTPS_ONLY, linesOf } from "./head.ts";

/** How long, and how much, the server reads on from a refused sender so that it gets the answer. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 4 * 1024 * 1024;

/** Answers on each socket that `server` gives up; logs and counts these answers like others. */
export function answerRefusedRequests(
  server: Server,
  connections: Connections,
  world: World,
): void {
  /** Node's timers and parser may report one connection more than once. */
  const refused = new WeakSet<Duplex>();
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const { code = "" } = error;
    // A client that disconnected or failed in the TLS handshake cannot read an answer.
    if (!/^(?:HPE|ERR_HTTP)_/.test(code)) socket.destroy();
    else refuse(socket, DENIALS[code] ?? MALFORMED);
  });
  server.on("connect", (_request, socket: Duplex) => {
    connections.keepAnswering(socket as Socket);
    refuse(socket, CONNECT);
  });

  /** Earlier requests on this connection get their answers first. */
  function refuse(socket: Duplex, denial: Denial): void {
    if (refused.has(socket)) return;
    refused.add(socket);
    stopParsing(socket);
    connections.afterAnswers(socket as Socket, () => {
      if (socket.writable) answer(socket as Socket, denial);
      else socket.destroy();
    });
  }

  function answer(socket: Socket, denial: Denial): void {
    const ask = { peer: socket.remoteAddress, arrivedMs: performance.now() };
    const refused = refusal(denial, PROGRAMS, ask, world);
    const { status, body } = refused;
    const security = socket instanceof TLSSocket ? HTTPS_ONLY : "";
    const lines = linesOf([...fieldsOf(refused), "connection", "close"]);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${security}${lines}\r\n`);
    socket.end(body);
    linger(socket);
  }
}

const MALFORMED = deny("bad_request", "The request is not well-formed HTTP/1.1.");
const CONNECT = deny("method_not_allowed", `Method CONNECT: expected ${ALLOWED_METHODS}.`);
/** By the code of Node's error. */
const DENIALS: Readonly<Record<string, Denial>> = {
  HPE_HEADER_OVERFLOW: deny(
    "headers_too_large",
    "The request line and header fields are too large.",
  ),
  ERR_HTTP_REQUEST_TIMEOUT: deny("request_timeout", "The request did not arrive in time."),
};

/**
 * Reads on for a moment before the connection closes: a close with unread bytes makes the sender's
 * system discard the answer.
 */
function linger(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  socket.resume();
}

/**
 * Drops all later bytes and pauses reading until `resume`. This also hides the sender's end from
 * Node's server, which would otherwise close the connection before this answer is sent.
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
