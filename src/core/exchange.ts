/** What the core knows of a request while it answers. */
import { deny, type Denial } from "../public/problems.ts";
import { parseQuery, type Query } from "../public/query.ts";
import { countFields, type Ask, type FieldsByName } from "./ask.ts";
import type { Caller } from "./caller.ts";
import type { Asked } from "./outcome.ts";

/** Turns a target in absolute form (RFC 9112, 3.2.2) into origin form; leaves others unchanged. */
function originForm(target: string): string {
  if (target.startsWith("/")) return target;
  const rest = target.replace(/^https?:\/\/[^/?#]*/i, "");
  // Only the absolute form can lack a path; the path is then "/" (RFC 9110, 4.2.3).
  return rest === "" || (rest.startsWith("?") && rest !== target) ? `/${rest}` : rest;
}

/** A request that is being answered. Logs and metrics hold `route`, never the path sent. */
export class Exchange implements Asked {
  readonly ask: Ask;
  readonly path: string;
  readonly query: Query;
  readonly headers: FieldsByName;
  readonly nowMs: number;
  readonly requestId: string;
  /** The route's path template, once a route matches. */
  route = "(none)";
  /** Whether the answer may wait for the state. */
  asksState = false;
  /** Null until the caller is identified. */
  caller: Caller | null = null;
  /** The calls that the caller has left after this one; null: they are not looked up yet. */
  callsLeft: number | null = null;
  /** How many calls this request cost. */
  calls = 0;

  /** Begins the answer to a request that arrived at `nowMs`. */
  constructor(ask: Ask, nowMs: number, requestId: string) {
    const target = originForm(ask.target);
    const mark = target.indexOf("?");
    this.ask = ask;
    this.path = mark === -1 ? target : target.slice(0, mark);
    this.query = parseQuery(mark === -1 ? "" : target.slice(mark + 1));
    this.headers = ask.headers;
    this.nowMs = nowMs;
    this.requestId = requestId;
  }

  /** Requires exactly one Host field; HTTP/1.0 may omit it (RFC 9112, 3.2). */
  hostFault(): Denial | null {
    const { rawHeaders, httpVersion } = this.ask;
    const hosts = countFields(rawHeaders, "host");
    if (hosts === 1 || (hosts === 0 && httpVersion !== "1.1")) return null;
    return deny("bad_request", "An HTTP/1.1 request must have one Host field.");
  }

  /** A body on GET has no meaning (RFC 9110, 9.3.1) and can be used to smuggle a request. */
  bodyFault(): Denial | null {
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    if (coding === undefined && (length === undefined || Number(length) === 0)) return null;
    return deny("bad_request", `A ${this.ask.method} request must have no body here.`);
  }
}
