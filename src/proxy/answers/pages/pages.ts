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
  /** A promise if it depends on something that is known later. */
  readonly body: Buffer | Promise<Buffer>;
  /** Further header fields of this file. */
  readonly headers?: HeaderFields;
}

/** The same with a body in pieces. */
type InPieces = Omit<PageSource, "body"> & { readonly body: readonly Buffer[] };

/** The fixed files of one process. */
export class Pages {
  readonly #pages: ReadonlyMap<string, Promise<Forms>>;

  /** `startedMs` (epoch) dates the files. They are coded from now on, one after another. */
  constructor(sources: readonly PageSource[], coder: Coder, startedMs: number) {
    this.#pages = new Map(
      sources.map((source) => [source.path, pageForms(source, startedMs, coder)]),
    );
  }

  /** The addresses of all pages. */
  get paths(): Iterable<string> {
    return this.#pages.keys();
  }

  /** The page; waits until it is coded. */
  async found(path: string): Promise<Found> {
    const forms = await this.#pages.get(path);
    if (forms === undefined) throw new Error(`There is no page at ${path}`);
    return { forms, cacheControl: PUBLIC_CACHE };
  }
}

/** Makes the forms of a page that changed last at `modifiedMs` (epoch). Without a coder it is sent as it is. */
export async function pageForms(
  { path, body: source, mediaType, headers }: PageSource | InPieces,
  modifiedMs: number,
  coder: Coder | null,
): Promise<Forms> {
  const body = await source;
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
