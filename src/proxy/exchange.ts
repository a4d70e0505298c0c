/** A request on its way to its answer: the one name for it in all of the proxy. */
import type { IncomingMessage } from "node:http";
import { countFields, type Caller } from "./caller.ts";
import { deny, type Denial } from "./problems.ts";
import { parseQuery, type Query } from "./query.ts";

/** What is known of a request; the parts that cost something are read when they are asked for. */
export class Exchange {
  readonly request: IncomingMessage;
  /** When the request arrived (epoch milliseconds, by the service's clock). */
  readonly nowMs: number;
  /** The same for durations. */
  readonly startedAt = performance.now();
  /** As it was sent: not decoded, and no dot segment resolved. */
  readonly path: string;
  /** The path template of the route, once one is found: logs and metrics never hold the path sent. */
  route = "(none)";
  /** Whether the answer may wait for the state. */
  asksState = false;
  /** Who asks, once that is known. */
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

  get isHead(): boolean {
    return this.request.method === "HEAD";
  }

  /** Exactly one Host field, but for HTTP/1.0, which may do without (RFC 9112, 3.2). */
  hostFault(): Denial | null {
    const { rawHeaders, httpVersion } = this.request;
    const hosts = countFields(rawHeaders, "host");
    if (hosts === 1 || (hosts === 0 && httpVersion !== "1.1")) return null;
    return deny("bad_request", "An HTTP/1.1 request must have one Host field.");
  }

  /** A body on GET has no meaning (RFC 9110, 9.3.1), and may be an attempt to smuggle a request. */
  bodyFault(): Denial | null {
    const { "content-length": length, "transfer-encoding": coding } = this.request.headers;
    if (coding === undefined && (length === undefined || Number(length) === 0)) return null;
    return deny("bad_request", `A ${this.request.method} request must have no body here.`);
  }
}
