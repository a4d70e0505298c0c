/** What the proxy knows of one request while it answers it. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Asked } from "../answers/answer.ts";
import { countFields, type Caller } from "./caller.ts";
import { deny, type Denial } from "../problems.ts";
import { parseQuery, type Query } from "../query.ts";

/** A request and the state of its answer. The query is parsed on first use. */
export class Exchange implements Asked {
  readonly request: IncomingMessage;
  readonly nowMs: number;
  /** The arrival on the monotonic clock (milliseconds), for durations. */
  readonly startedAt = performance.now();
  readonly path: string;
  /** The route's path template, once a route matches. Logs and metrics never hold the path sent. */
  route = "(none)";
  /** Whether the answer may wait for the state. */
  asksState = false;
  /** Null until the caller is identified. */
  caller: Caller | null = null;
  readonly #queryAt: number;
  #query: Query | null = null;

  constructor(request: IncomingMessage, nowMs: number) {
    const target = request.url ?? "";
    const mark = target.indexOf("?");
    this.request = request;
    this.nowMs = nowMs;
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.#queryAt = mark === -1 ? target.length : mark + 1;
  }

  get query(): Query {
    this.#query ??= parseQuery((this.request.url ?? "").slice(this.#queryAt));
    return this.#query;
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  get isHead(): boolean {
    return this.request.method === "HEAD";
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
    const { "content-length": length, "transfer-encoding": coding } = this.request.headers;
    if (coding === undefined && (length === undefined || Number(length) === 0)) return null;
    return deny("bad_request", `A ${this.request.method} request must have no body here.`);
  }
}
