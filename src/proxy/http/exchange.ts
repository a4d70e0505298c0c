/** What the proxy knows of one request while it answers it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Asked } from "../answers/answer.ts";
import { countFields, type Caller } from "./caller.ts";
import { deny, type Denial } from "../problems.ts";
import { parseQuery } from "../query.ts";

/** A request and the state of its answer. Logs and metrics hold `route`, never the path sent. */
export interface Exchange extends Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The arrival on the monotonic clock (milliseconds), for durations. */
  readonly startedAt: number;
  /** The route's path template, once a route matches. */
  route: string;
  /** Whether the answer may wait for the state. */
  asksState: boolean;
  /** Null until the caller is identified. */
  caller: Caller | null;
}

/** Begins the answer to a request that arrived at `nowMs`. */
export function exchangeFor(
  request: IncomingMessage,
  response: ServerResponse,
  nowMs: number,
): Exchange {
  const { url = "", headers } = request;
  const mark = url.indexOf("?");
  return {
    request,
    response,
    path: mark === -1 ? url : url.slice(0, mark),
    query: parseQuery(mark === -1 ? "" : url.slice(mark + 1)),
    headers,
    nowMs,
    startedAt: performance.now(),
    route: "(none)",
    asksState: false,
    caller: null,
    bodyFault: () => bodyFault(request),
  };
}

/** Requires exactly one Host field; HTTP/1.0 may omit it (RFC 9112, 3.2). */
export function hostFault({ rawHeaders, httpVersion }: IncomingMessage): Denial | null {
  const hosts = countFields(rawHeaders, "host");
  if (hosts === 1 || (hosts === 0 && httpVersion !== "1.1")) return null;
  return deny("bad_request", "An HTTP/1.1 request must have one Host field.");
}

/** A body on GET has no meaning (RFC 9110, 9.3.1) and can be used to smuggle a request. */
function bodyFault({ method, headers }: IncomingMessage): Denial | null {
  const { "content-length": length, "transfer-encoding": coding } = headers;
  if (coding === undefined && (length === undefined || Number(length) === 0)) return null;
  return deny("bad_request", `A ${method} request must have no body here.`);
}

/** Calls `then` once, when the answer is sent or its connection is closed. */
export function whenSent({ request: { socket }, response }: Exchange, then: () => void): void {
  const done = (): void => {
    socket.off("close", done);
    response.off("close", done);
    then();
  };
  if (socket.destroyed || response.destroyed) return then();
  // An answer that waits behind another one hears nothing of the end of its connection.
  socket.on("close", done);
  response.on("close", done);
}
