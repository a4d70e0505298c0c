/** Files for everybody: the OpenAPI document and the pages, with what they need. */
import { createHash } from "node:crypto";
import type { Found } from "../answer.ts";
import type { Coder, Coding } from "../../serve/coding.ts";
import { entityOf, tagOf, type Entity, type Forms, type HeaderFields } from "../../serve/entity.ts";

/** Short, so that a change is seen soon; the tags make asking again cheap. */
export const PUBLIC_CACHE = "public, max-age=60";

/** A fixed file as it is made; answers are made of it. */
export interface PageSource {
  readonly path: string;
  readonly mediaType: string;
  readonly body: Buffer;
  /** Further header fields of this file. */
  readonly headers?: HeaderFields;
}

/** The answers of fixed files by path. `startedMs` (epoch) dates them; they are coded one after another. */
export const fixedPages = (
  sources: readonly PageSource[],
  coder: Coder,
  startedMs: number,
): ReadonlyMap<string, Promise<Found>> =>
  new Map(
    sources.map((source) => {
      const forms = pageForms(source, startedMs, coder);
      return [source.path, forms.then((found) => ({ forms: found, cacheControl: PUBLIC_CACHE }))];
    }),
  );

/** Makes the forms of a page that changed last at `modifiedMs` (epoch). Without a coder it is sent as it is. */
export async function pageForms(
  {
    path,
    body,
    mediaType,
    headers,
  }: Omit<PageSource, "body"> & { readonly body: Buffer | readonly Buffer[] },
  modifiedMs: number,
  coder: Coder | null,
): Promise<Forms> {
  const pieces = Buffer.isBuffer(body) ? [body] : body;
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  const sha256 = hash.digest("hex");
  const entityAs = (coding: Coding, coded: Entity["body"]): [Coding, Entity] => {
    const etag = tagOf(path, sha256, coding);
    const content = { ...headers, "content-type": mediaType };
    return [coding, entityOf({ etag, modifiedMs, content, coding, body: coded })];
  };
  const coded = coder === null ? [] : await coder.forms(Buffer.concat(pieces));
  return new Map([
    entityAs("identity", body),
    ...[...coded].map(([coding, bytes]) => entityAs(coding, bytes)),
  ]);
}
