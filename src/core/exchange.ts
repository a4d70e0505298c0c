/** One request and its answer, as the proxy knows them while it answers. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Asked } from "./outcome.ts";
import { deny, type Denial } from "../public/problems.ts";
import { parseQuery, type Query } from "../public/query.ts";
import { countFields, type Caller } from "./caller.ts";
import { newRequestId } from "./request-id.ts";

/** Logs and metrics hold `route`, never the path sent. */
export class Exchange implements Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  readonly nowMs: number;
  readonly requestId = newRequestId();
  /** The arrival on the monotonic clock (milliseconds), for durations. */
  readonly startedAt = performance.now();
  /** The route's path template, once a route matches. */
  route = "(none)";
  /** Whether the answer may wait for the state. */
  asksState = false;
  /** Null until the caller is identified. */
  caller: Caller | null = null;
  /** The calls that the caller has left after this one; null: they are not looked up yet. */
  callsLeft: number | null = null;

  /** Begins the answer to a request that arrived at `nowMs`. */
  constructor(request: IncomingMessage, response: ServerResponse, nowMs: number) {
    const { url = "", headers } = request;
    const mark = url.indexOf("?");
    this.request = request;
    this.response = response;
    this.path = mark === -1 ? url : url.slice(0, mark);
    this.query = parseQuery(mark === -1 ? "" : url.slice(mark + 1));
    this.headers = headers;
    this.nowMs = nowMs;
  }

  /** Requires exactly one Host field; HTTP/1.0 may omit it (RFC 9112, 3.2). */
  hostFault(): Denial | null {
    const { rawHeaders, httpVersion } = this.request;
    const hosts = countFields(rawHeaders, "host");
    if (hosts === 1 || (hosts === 0 && httpVersion !== "1.1")) return null;
    return deny("bad_request", "An HTTP/1.1 request must have one Host field.");
  }

  /** A body on GET has no meaning (RFC 9110, 9.3.1) and can be used to smuggle a request. */
  bodyFault(): Denial | null {
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    if (coding === undefined && (length === undefined || Number(length) === 0)) return null;
    return deny("bad_request", `A ${this.request.method} request must have no body here.`);
  }

  /** Calls `then` once, when the answer is sent or its connection is closed. */
  whenSent(then: () => void): void {
    const { response } = this;
    const { socket } = this.request;
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
}
