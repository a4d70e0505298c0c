/**
 * Requests that never become one: what Node's HTTP parser refuses, and CONNECT. They too get a
 * problem document and the quota field, written to the socket by hand.
 */
import { STATUS_CODES, type Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import type { Gatekeeper } from "../state/gatekeeper.ts";
import type { Clock } from "../clock.ts";
import { TIERS } from "../market/tier.ts";
import { clientAddress, shortened } from "./client-address.ts";
import type { Connections } from "./connections.ts";
import type { Logger } from "./ops/log.ts";
import type { ProxyMetrics } from "./ops/metrics.ts";
import { remaining } from "./quota.ts";
import { methodNotAllowed, problemReply, type Reply } from "./reply.ts";

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
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    // In the middle of another answer on the same connection nothing can be said.
    const busy = connections.isBusy(socket as Socket);
    if (!socket.writable || busy || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    refuse(socket, replyTo(error.code));
  });
  server.on("connect", (_request, socket: Duplex) => {
    refuse(socket, methodNotAllowed("CONNECT"));
  });

  function refuse(socket: Duplex, { status, headers, body, code }: Reply): void {
    void (async () => {
      const nowMs = clock.now();
      const startedAt = performance.now();
      const address = clientAddress((socket as Socket).remoteAddress, undefined, 0);
      const subject = gatekeeper.addressSubject(address, nowMs);
      const caller = { account: null, tier: TIERS.free, subject, refusal: null };
      const left = await remaining(caller, gatekeeper, nowMs);
      let head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
      head += `${headers}x-ratelimit-remaining: ${left}\r\nconnection: close\r\n\r\n`;
      socket.end(Buffer.concat([Buffer.from(head), body as Buffer]));
      linger(socket);
      const line = {
        method: undefined,
        route: "(none)",
        status,
        code,
        account: null,
        tier: "free",
      };
      const durationMs = performance.now() - startedAt;
      metrics.observe(line.route, line.tier, status, durationMs);
      if (log.wantsRequest(code)) log.request({ ...line, from: shortened(address), durationMs });
    })().catch(() => socket.destroy());
  }
}

/**
 * Reads on for a moment before the connection goes: closing it with bytes unread would make the
 * sender's system discard the answer.
 */
function linger(socket: Duplex): void {
  let bytes = 0;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
  socket.on("error", () => socket.destroy());
  socket.removeAllListeners("data");
  socket.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > LINGER_BYTES) socket.destroy();
  });
  socket.resume();
}

/** By the code of the error with which Node gave the request up. */
function replyTo(errorCode: string | undefined): Reply {
  if (errorCode === "HPE_HEADER_OVERFLOW") {
    return problemReply("headers_too_large", "The request line and header fields are too large.");
  }
  if (errorCode === "ERR_HTTP_REQUEST_TIMEOUT") {
    return problemReply("request_timeout", "The request did not arrive in time.");
  }
  return problemReply("bad_request", "The request is not well-formed HTTP/1.1.");
}
