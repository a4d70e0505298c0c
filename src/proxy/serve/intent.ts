/**
 * What a request means for an entity, from its header fields alone: which coding (RFC 9110, 12.5.3),
 * whether the caller has it already (13), and whether a part of it is asked for (14). Nothing is
 * counted or sent here.
 */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Entity, Forms } from "./entity.ts";
import type { ByteRange } from "./stream.ts";

/** What to answer with: the entity, or the range of its bytes; 304 and 416 have no bytes of it. */
export type Intent =
  | { readonly entity: Entity; readonly status: 200 | 304 }
  | { readonly entity: Entity; readonly status: 206; readonly range: ByteRange }
  | { readonly entity: Entity; readonly status: 416 };

/** What the request means for what these forms are of. */
export function intentOf(
  forms: Forms,
  { method, headers }: Pick<IncomingMessage, "method" | "headers">,
): Intent {
  const { identity, gzip } = forms;
  const range = method === "GET" ? requestedRange(identity, headers) : null;
  const isCoded = range === null && prefersGzip(headers["accept-encoding"]);
  const entity = (isCoded && gzip) || identity;
  if (isNotModified(headers, entity)) return { entity, status: 304 };
  if (range === null) return { entity, status: 200 };
  return range === "unsatisfiable" ? { entity, status: 416 } : { entity, status: 206, range };
}

const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)/gy;

/**
 * Whether the caller already has the entity and gets a 304. If-None-Match decides if the request has
 * it (weak comparison, lists, `*`), otherwise If-Modified-Since. HTTP dates have whole seconds, so
 * that comparison ignores milliseconds.
 */
function isNotModified(
  { "if-none-match": ifNoneMatch, "if-modified-since": ifModifiedSince }: IncomingHttpHeaders,
  { etag, modifiedMs }: Entity,
): boolean {
  if (ifNoneMatch !== undefined) return ifNoneMatch === etag || matchesAny(ifNoneMatch, etag);
  if (ifModifiedSince === undefined || modifiedMs === null) return false;
  const since = Date.parse(ifModifiedSince);
  return !Number.isNaN(since) && Math.floor(modifiedMs / 1000) * 1000 <= since;
}

/** Whether the request has `If-None-Match: *`, which matches any entity. */
export const asksForAny = ({ "if-none-match": ifNoneMatch }: IncomingHttpHeaders): boolean =>
  ifNoneMatch?.trim() === "*";

const matchesAny = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === "*" ||
  [...ifNoneMatch.matchAll(ENTITY_TAG)].some(([, tag]) => tag === etag);

/** One range in a list that may have empty elements (RFC 9110, 14.1.1 and 5.6.1.2). */
const ONE_RANGE = /^bytes=(?:(?:[ \t]*,)+[ \t]*)?(\d*)-(\d*)(?:[ \t]*,)*[ \t]*$/i;

/**
 * What Range asks for in a file of `sizeBytes`. Null: the whole file. That is also the answer to
 * several ranges, another unit and a malformed field, which a server may ignore (RFC 9110, 14.2).
 */
export function parseRange(field: string, sizeBytes: number): ByteRange | "unsatisfiable" | null {
  const parts = ONE_RANGE.exec(field);
  if (parts === null) return null;
  const [, from = "", to = ""] = parts;
  if (from === "") {
    if (to === "") return null;
    if (Number(to) === 0) return "unsatisfiable";
    // The last bytes of an empty file: content-range has no form for that part.
    if (sizeBytes === 0) return null;
    return { first: Math.max(0, sizeBytes - Number(to)), last: sizeBytes - 1 };
  }
  const first = Number(from);
  const last = to === "" ? Infinity : Number(to);
  if (last < first) return null;
  return first < sizeBytes ? { first, last: Math.min(last, sizeBytes - 1) } : "unsatisfiable";
}

/**
 * The range that the request asks for. Null: the whole entity, because of its accept-ranges or of the
 * field, or because If-Range names another one (RFC 9110, 13.1.5: the strong tag, or exactly the date
 * of Last-Modified).
 */
function requestedRange(
  { etag, fields, sizeBytes }: Entity,
  { range, "if-range": ifRange }: IncomingHttpHeaders,
): ByteRange | "unsatisfiable" | null {
  if (range === undefined) return null;
  const { "accept-ranges": unit, "last-modified": modified } = Object.fromEntries(fields);
  const isNamed = ifRange === undefined || ifRange === etag || ifRange === modified;
  return unit === "bytes" && isNamed ? parseRange(range, sizeBytes) : null;
}

/**
 * Whether gzip is accepted and weighs no less than identity. Who accepts neither gets identity: RFC 9110,
 * 12.5.3, lets a server ignore the field.
 */
export function prefersGzip(acceptEncoding = ""): boolean {
  const weights = parseWeights(acceptEncoding);
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}

const WEIGHTED = /^([^;]*?)\s*;\s*q=([01](?:\.\d{0,3})?)\s*$/;

/**
 * The weights that an Accept… field gives, by lower-case item. Skips items with an invalid weight
 * (RFC 9110, 12.4.2) or other parameters; a weight above 1 counts as 1.
 */
export function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const parts = item.includes(";") ? WEIGHTED.exec(item) : [item, item, "1"];
    if (parts === null) continue;
    weights.set((parts[1] as string).trim(), Math.min(1, Number(parts[2])));
  }
  return weights;
}
