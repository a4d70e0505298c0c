/** Preconditions of GET and HEAD (RFC 9110, 13). */
import type { IncomingHttpHeaders } from "node:http";

const ENTITY_TAG = /\s*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")\s*(?:,|$)/y;

/**
 * Whether the caller already has the representation and gets a 304. If-None-Match decides if the
 * request has it (weak comparison, lists, `*`), otherwise If-Modified-Since. HTTP dates have whole
 * seconds, so that comparison ignores milliseconds.
 */
export function isNotModified(
  { "if-none-match": ifNoneMatch, "if-modified-since": ifModifiedSince }: IncomingHttpHeaders,
  etag: string,
  modifiedMs: number,
): boolean {
  if (ifNoneMatch !== undefined) return ifNoneMatch === etag || matchesAny(ifNoneMatch, etag);
  if (ifModifiedSince === undefined) return false;
  const since = Date.parse(ifModifiedSince);
  return !Number.isNaN(since) && Math.floor(modifiedMs / 1000) * 1000 <= since;
}

/** Whether the request has `If-None-Match: *`, which matches any representation. */
export const asksForAny = ({ "if-none-match": ifNoneMatch }: IncomingHttpHeaders): boolean =>
  ifNoneMatch?.trim() === "*";

function matchesAny(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === "*") return true;
  ENTITY_TAG.lastIndex = 0;
  for (
    let item = ENTITY_TAG.exec(ifNoneMatch);
    item !== null;
    item = ENTITY_TAG.exec(ifNoneMatch)
  ) {
    if (item[1] === etag) return true;
    if (ENTITY_TAG.lastIndex >= ifNoneMatch.length) break;
  }
  return false;
}
