/**
 * The table of problems: every error that a caller can get, with its status, meaning and remedy.
 * The proxy, the OpenAPI document and the reference all use this table. Bodies are problem documents (RFC
 * 9457); `type` is the address of the problem's row in the reference.
 */
import type { z } from "zod";
import type { problem } from "./answer-schemas.ts";

export interface Problem {
  readonly status: number;
  /** The same for every problem with this code. */
  readonly title: string;
  /** When callers get it. */
  readonly meaning: string;
  /** The caller's next step. */
  readonly remedy: string;
}

/** In the order of the proxy's checks; refusals of the HTTP parser and `internal` come last. */
export const PROBLEMS = {
  not_found: {
    status: 404,
    title: "No such address",
    meaning: "The service has no such path. Paths are case-sensitive and have no trailing slash.",
    remedy: "Compare the path with the reference, /docs.",
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
    meaning:
      "The query seems to contain an API key. Addresses end up in logs and browser histories.",
    remedy: "Send the key as Authorization: Bearer KEY or x-api-key: KEY, and rotate this one.",
  },
  invalid_key: {
    status: 401,
    title: "Invalid key",
    meaning:
      "The key sent is unknown, empty, revoked or rotated out, Authorization was sent twice, or the key was sent in an unsupported header or cookie; detail names it.",
    remedy:
      "Send a valid key as Authorization: Bearer KEY or x-api-key: KEY, or no key for the free slice.",
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
    meaning: "The free slice does not include this answer.",
    remedy: "Send an API key as Authorization: Bearer KEY or x-api-key: KEY.",
  },
  tier_required: {
    status: 403,
    title: "Higher tier required",
    meaning:
      "The key's tier does not include this answer, or its history begins later; required_tier names the tier that has it.",
    remedy: "Move the account to that tier, or ask for dates from history_from onwards.",
  },
  no_session: {
    status: 503,
    title: "No session yet",
    meaning: "Nothing is published, or the published snapshot cannot be loaded.",
    remedy: "Try again after the seconds in retry-after.",
  },
  bad_request: {
    status: 400,
    title: "Bad request",
    meaning: "The request is not well-formed HTTP/1.1, or has a body.",
    remedy: "Send a plain GET or HEAD request without a body.",
  },
  unknown_parameter: {
    status: 400,
    title: "Unknown parameter",
    meaning: "The query holds a parameter that this endpoint does not take.",
    remedy: "Leave it out. errors names the parameters that the endpoint takes.",
  },
  invalid_parameter: {
    status: 400,
    title: "Invalid parameter",
    meaning: "A parameter's value cannot be used; errors names the faults, at most 100.",
    remedy: "Correct every item of errors.",
  },
  not_published: {
    status: 404,
    title: "Not published",
    meaning:
      "The log has no such publication or session, nothing was published by that instant, or the publication is beyond the history of every tier.",
    remedy: "Take numbers, instants and sessions from /api/public/v1/publications.",
  },
  pruned: {
    status: 410,
    title: "Pruned",
    meaning: "The operator removed this old snapshot for good.",
    remedy: "Ask for another publication.",
  },
  busy: {
    status: 503,
    title: "Too much at once",
    meaning:
      "The caller has too many requests in progress for selections, old snapshots, new baskets, plain histories or pages, or the store is unavailable.",
    remedy: "Try again after the seconds in retry-after.",
  },
  not_in_snapshot: {
    status: 404,
    title: "Not in this snapshot",
    meaning:
      "The snapshot was published before the service had this endpoint, and has no file for it.",
    remedy: "Ask for a later publication, or again in a later session.",
  },
  unknown_contract: {
    status: 404,
    title: "Unknown contract",
    meaning:
      "No contract has or had this id. In a basket: no contract on the board has it. In a parameter the status is 400.",
    remedy: "Take ids from /api/public/v1/contracts.",
  },
  no_base_level: {
    status: 400,
    title: "No base level",
    meaning: "A requested contract has no comparable level a year ago.",
    remedy: "Leave out the contracts that errors names.",
  },
  not_on_board: {
    status: 404,
    title: "Contract not on the board",
    meaning:
      "The contract is in the catalog and on no board. as_of is the date of its last level; null: it has none so far. A delisted one has delisted_on. In a parameter the status is 400.",
    remedy:
      "Ask again in a later session. For a delisted contract, use /prices/{id} and the history files.",
  },
  unknown_index: {
    status: 404,
    title: "Unknown index",
    meaning: "No index of the market has this id or name. In a parameter the status is 400.",
    remedy:
      "Take ids from /api/public/v1/indices; /api/public/v1/contracts also has the ids of segments.",
  },
  quota_exceeded: {
    status: 429,
    title: "Monthly quota exceeded",
    meaning: "All calls of this calendar month (UTC) are used.",
    remedy:
      "Wait the seconds in retry-after, until the 1st of next month, or move to a higher tier.",
  },
  precondition_failed: {
    status: 412,
    title: "Another version",
    meaning:
      "If-Match names another version of the answer, or the answer changed after If-Unmodified-Since.",
    remedy: "Ask for the whole answer again, without these fields. The call is not counted.",
  },
  range_not_satisfiable: {
    status: 416,
    title: "No such part",
    meaning: "The file has none of the bytes that Range asks for; content-range gives its size.",
    remedy: "Ask for bytes that the file has, or leave out Range for the whole file.",
  },
  request_timeout: {
    status: 408,
    title: "Request too slow",
    meaning: "The request did not arrive in time.",
    remedy: "Send the whole request without pauses.",
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

/** Members of a problem document beyond the standard ones. */
type ProblemExtras = Pick<
  z.infer<ReturnType<typeof problem>>,
  | "required_tier"
  | "as_of"
  | "delisted_on"
  | "did_you_mean"
  | "plans"
  | "history_from"
  | "resets_at"
  | "errors"
>;
/** One fault of one parameter. Its value is as sent, but shortened; a key is never shown. */
export type ParameterFault = NonNullable<ProblemExtras["errors"]>[number];

/** A refusal as a value; problem-reply.ts turns it into HTTP. */
export interface Denial {
  readonly kind: "denial";
  readonly code: ProblemCode;
  readonly status: number;
  /** A sentence: the fault of this request, and the expected form. */
  readonly detail: string;
  readonly extras: ProblemExtras;
  /** How long the caller should wait before the next try. */
  readonly retryAfterMs: number | undefined;
  /** The size of the file that the request asks for a part of. */
  readonly sizeBytes: number | undefined;
}

/** Makes a denial. `status` replaces the code's own: every fault of a parameter is a 400. */
export function deny(
  code: ProblemCode,
  detail: string,
  more: ProblemExtras & Partial<Pick<Denial, "status" | "retryAfterMs" | "sizeBytes">> = {},
): Denial {
  const { status = PROBLEMS[code].status, retryAfterMs, sizeBytes, ...extras } = more;
  return { kind: "denial", code, status, detail, extras, retryAfterMs, sizeBytes };
}

/** Whether a function gave a refusal instead of the value that it was asked for. */
export const isDenial = (result: object): result is Denial =>
  (result as Partial<Denial>).kind === "denial";

/** The snapshot has no file for the request because an older version published it. */
export const notInSnapshot = (snapshot: string): Denial =>
  deny("not_in_snapshot", `Snapshot ${snapshot} has no data for this address.`);

/** A prune took the snapshot that the entry made the head. */
export const pruned = (number: number): Denial =>
  deny("pruned", `The snapshot of publication ${number} was removed.`);

/** The log has no entry with this number, as it was sent. */
export const notYetPublished = (number: string | number, newest: number): Denial =>
  deny("not_published", `The newest publication is ${newest}; there is no publication ${number}.`);

/** A second later there may be room, or an answer. */
export const busy = (detail: string): Denial => deny("busy", detail, { retryAfterMs: 1_000 });

/** The caller has all its places in the queue (lib/turns.ts). */
export const BUSY = busy(
  "Too many requests of this caller that take work are in progress: ask again when one is answered.",
);

/** Refusals that a caller of another tier would not get. */
const OF_TIER: ReadonlySet<ProblemCode> = new Set([
  "tier_required",
  "key_required",
  "quota_exceeded",
]);

/** The media type of problem documents (RFC 9457, 3). */
export const PROBLEM_MEDIA_TYPE = "application/problem+json";

/**
 * The text of the problem document of a request. `origin` stands before the addresses in it: where callers reach the
 * service.
 */
export function problemBody(
  { code, status, detail, extras }: Denial,
  origin: string,
  requestId: string,
): string {
  const { title } = PROBLEMS[code];
  const members = { ...extras, ...(OF_TIER.has(code) && { plans: `${origin}/plans` }) };
  const type = `${origin}/docs#${code}`;
  const document = { type, title, status, detail, code, ...members, request_id: requestId };
  return `${JSON.stringify(document)}\n`;
}
