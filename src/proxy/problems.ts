/**
 * The one table of problems: every refusal a caller can get, with its status, what it means and
 * what to do about it. The proxy, the OpenAPI document and the documentation page are made of it.
 * Bodies are problem documents (RFC 9457); `type` is the problem's place on the documentation page.
 */
import type { TierName } from "../market/tier.ts";

/** A kind of refusal. */
export interface Problem {
  readonly status: number;
  /** The same for every answer of this kind. */
  readonly title: string;
  /** When it is answered. */
  readonly meaning: string;
  /** What the caller can do. */
  readonly remedy: string;
}

/** In the order in which the proxy checks; `internal` and what the HTTP parser refuses are last. */
export const PROBLEMS = {
  not_found: {
    status: 404,
    title: "No such address",
    meaning:
      "The path is none of this service. Paths are case-sensitive and have no trailing slash.",
    remedy: "Compare the path with this page.",
  },
  method_not_allowed: {
    status: 405,
    title: "Method not allowed",
    meaning: "The service is read-only.",
    remedy: "Use GET or HEAD.",
  },
  key_in_query: {
    status: 400,
    title: "Key in the address",
    meaning: "The query holds what looks like an API key. Addresses end up in logs and histories.",
    remedy: "Send the key as Authorization: Bearer KEY or x-api-key: KEY, and rotate this one.",
  },
  invalid_key: {
    status: 401,
    title: "Invalid key",
    meaning:
      "The key sent is unknown, empty, revoked or rotated out, or Authorization was sent twice.",
    remedy: "Send a valid key, or none at all for the free slice.",
  },
  key_suspended: {
    status: 403,
    title: "Key suspended",
    meaning: "The key or its account is suspended.",
    remedy: "Ask the operator of the service to resume it.",
  },
  trial_lapsed: {
    status: 403,
    title: "Trial lapsed",
    meaning: "The account's trial has ended.",
    remedy: "Choose a tier, or send no key for the free slice.",
  },
  state_unavailable: {
    status: 503,
    title: "Keys cannot be checked",
    meaning: "The service cannot reach its accounts at the moment and does not know this key.",
    remedy: "Try again after the seconds in retry-after.",
  },
  key_required: {
    status: 401,
    title: "Key required",
    meaning: "This is not part of the free slice.",
    remedy: "Send an API key as Authorization: Bearer KEY or x-api-key: KEY.",
  },
  tier_required: {
    status: 403,
    title: "Higher tier required",
    meaning: "The key's tier does not include this; required_tier names the one that does.",
    remedy: "Move the account to that tier.",
  },
  no_session: {
    status: 503,
    title: "No session yet",
    meaning: "Nothing is published, or what is published cannot be loaded.",
    remedy: "Try again after the seconds in retry-after.",
  },
  bad_request: {
    status: 400,
    title: "Bad request",
    meaning: "The request is not HTTP as this service reads it, or carries a body.",
    remedy: "Send a plain GET or HEAD request without a body.",
  },
  unknown_parameter: {
    status: 400,
    title: "Unknown parameter",
    meaning: "The query holds a parameter that this address does not take.",
    remedy: "Leave it out. Only /index takes parameters: ids and weights.",
  },
  invalid_parameter: {
    status: 400,
    title: "Invalid parameter",
    meaning: "A parameter's value cannot be used; errors names the faults, 20 at most.",
    remedy: "Correct every item of errors.",
  },
  not_in_snapshot: {
    status: 404,
    title: "Not in this snapshot",
    meaning:
      "The snapshot was published before the service had this address, and has no file for it.",
    remedy: "Ask again in a later session.",
  },
  unknown_contract: {
    status: 404,
    title: "Unknown contract",
    meaning: "There is no contract of this id on the board. In a parameter the status is 400.",
    remedy: "Take ids from /api/public/v1/prices.",
  },
  no_base_level: {
    status: 400,
    title: "No base level",
    meaning: "A contract asked for has no level a year ago that today's compares with.",
    remedy: "Leave out the contracts that errors names.",
  },
  not_on_board: {
    status: 404,
    title: "Contract not on the board",
    meaning: "The contract is in the catalog but has no current level; as_of dates its last one.",
    remedy: "Ask again in a later session.",
  },
  quota_exceeded: {
    status: 429,
    title: "Monthly quota exceeded",
    meaning: "All calls of this calendar month (UTC) are used.",
    remedy:
      "Wait the seconds in retry-after, until the 1st of next month, or move to a higher tier.",
  },
  request_timeout: {
    status: 408,
    title: "Request too slow",
    meaning: "The request did not arrive in time.",
    remedy: "Send the whole request at once.",
  },
  headers_too_large: {
    status: 431,
    title: "Request too large",
    meaning: "The request line and header fields together are larger than 16 kB.",
    remedy: "Send fewer or shorter header fields and parameters.",
  },
  internal: {
    status: 500,
    title: "Internal error",
    meaning: "The service failed. The failure is logged; the call is not counted.",
    remedy: "Try again later.",
  },
} as const satisfies Record<string, Problem>;

/** The member `code` of a problem document. */
export type ProblemCode = keyof typeof PROBLEMS;

/** One fault of one parameter. */
export interface ParameterFault {
  readonly parameter: string;
  /** As sent, but cut short, and without a key. */
  readonly value: string;
  /** What was expected. */
  readonly detail: string;
}

/** Members of a problem document beyond the standard ones. */
interface ProblemExtras {
  /** The lowest tier that is offered this. */
  readonly required_tier?: TierName | undefined;
  /** Date of the contract's last level; null where it never had one. */
  readonly as_of?: string | null;
  /** Faults of the parameters. */
  readonly errors?: readonly ParameterFault[];
}

/** A refusal, as a value; answer.ts makes it HTTP. */
export interface Denial {
  readonly code: ProblemCode;
  readonly status: number;
  /** A sentence: what is wrong with this request and what was expected. */
  readonly detail: string;
  readonly extras: ProblemExtras;
  /** When to come back. */
  readonly retryAfterMs?: number;
}

/** Refuses. `status` is given where the code's own is not meant: a fault of a parameter is a 400. */
export function deny(
  code: ProblemCode,
  detail: string,
  more: ProblemExtras & { readonly status?: number; readonly retryAfterMs?: number } = {},
): Denial {
  const { status = PROBLEMS[code].status, retryAfterMs, ...extras } = more;
  return { code, status, detail, extras, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** What is asked for has no file in the snapshot: an older program published it. */
export const notInSnapshot = (snapshot: string): Denial =>
  deny("not_in_snapshot", `Snapshot ${snapshot} has no data for this address.`);

/** RFC 9457, 3. */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/** The document's text. `type` is the problem's entry on the reference page. */
export function problemBody({ code, status, detail, extras }: Denial): string {
  const { title } = PROBLEMS[code];
  return `${JSON.stringify({ type: `/#${code}`, title, status, detail, code, ...extras })}\n`;
}
