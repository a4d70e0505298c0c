/** Documents that the service makes by itself, such as pages and lists, and the forms in which they are sent. */
import { joined } from "../../lib/bytes.ts";
import type { Platform } from "../../ports/platform.ts";
import {
  entityOf,
  tagOf,
  type Coding,
  type Entity,
  type Forms,
  type HeaderFields,
} from "./entity.ts";

/** Short, so that a change is seen soon; the tags make asking again cheap. */
export const PUBLIC_CACHE = "public, max-age=60";

/** A document as it is made; answers are made of it. */
export interface PageSource {
  readonly path: string;
  readonly mediaType: string;
  readonly body: Uint8Array;
  /** Further header fields of this document. */
  readonly headers?: HeaderFields;
}

/** Makes the forms of a document that changed last at `modifiedMs` (epoch). Unless `isCoded`, it is sent as it is; `isExposed` as in entity.ts. */
export async function pageForms(
  platform: Platform,
  {
    path,
    body,
    mediaType,
    headers,
  }: Omit<PageSource, "body"> & { readonly body: Uint8Array | readonly Uint8Array[] },
  modifiedMs: number,
  { isCoded = true, isExposed = true } = {},
): Promise<Forms> {
  const pieces = body instanceof Uint8Array ? [body] : body;
  const hasher = platform.hasher();
  for (const piece of pieces) hasher.update(piece);
  const sha256 = hasher.hex();
  const content = { ...headers, "content-type": mediaType };
  const entityAs = (coding: Coding, bytes: Entity["body"]): Entity => {
    const etag = tagOf(platform, path, sha256, coding);
    return entityOf({ etag, modifiedMs, content, coding, isExposed, body: bytes });
  };
  const identity = entityAs("identity", body);
  if (!isCoded) return { identity };
  return { identity, gzip: entityAs("gzip", await platform.gzip(joined(pieces), "best")) };
}

/** Scripts, styles and answers of this service only; nothing inline. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** The same for a page that is a file. Browsers read `frame-ancestors` in a header field only. */
export const FILES_POLICY = CONTENT_SECURITY_POLICY.slice(0, -1).join("; ");

/** The header fields of every page. */
export const GUARDED = {
  "content-security-policy": CONTENT_SECURITY_POLICY.join("; "),
  "referrer-policy": "no-referrer",
};
