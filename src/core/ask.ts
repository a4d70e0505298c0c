/** The request as a host hands it over, and what the core knows of it while it answers. */
import { deny, type Denial } from "../public/problems.ts";
import { parseQuery, type Query } from "../public/query.ts";
import type { Caller } from "./caller.ts";
import type { Asked } from "./outcome.ts";
import type { RawFields } from "./serve/entity.ts";

/** Header fields by lower-case name. Of repeated ones some are joined, and of others the first is here. */
export type FieldsByName = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request. Its body is never read. */
export interface Ask {
  readonly method: string;
  /** The request target as it was sent (RFC 9112, 3.2). */
  readonly target: string;
  /** `1.1`; only a request of an older version may lack Host. */
  readonly httpVersion: string;
  readonly headers: FieldsByName;
  /** All fields as they were sent: names and values in turn. */
  readonly rawHeaders: RawFields;
  /** The address at the other end of the connection; undefined: it is gone. */
  readonly peer: string | undefined;
  /** The arrival on a clock of the host, in milliseconds, for durations. */
  readonly arrivedMs: number;
}

/** The value of a field that is not repeated. */
export const fieldIn = (headers: FieldsByName, name: string): string | undefined =>
  headers[name] as string | undefined;

/** How many fields have this name. `headers` hides repeats of some fields; `rawHeaders` does not. */
export function countFields(rawHeaders: RawFields, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const field = rawHeaders[at] as string;
    if (field.length === name.length && field.toLowerCase() === name) count += 1;
  }
  return count;
}

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
