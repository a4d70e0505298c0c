/** Files for everybody: the OpenAPI document and the pages, with what they need, and how they are answered. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import { CORS_HEADERS, flatFields, VARY, type HeaderFields, type Reply } from "../answer.ts";
import { chain } from "../chain.ts";
import { chooseCoding, tagOf, type Coder, type Coding } from "../coding.ts";
import { isNotModified } from "../conditional.ts";

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

/** What is sent of a page in one coding. */
interface PageForm {
  readonly etag: string;
  readonly whole: Reply;
  readonly notModified: Reply;
}

/** A page, ready to send. */
export interface PreparedPage {
  /** For If-Modified-Since (epoch milliseconds). */
  readonly modifiedMs: number;
  readonly forms: ReadonlyMap<Coding, PageForm>;
}

/** The fixed files of one process. */
export class Pages {
  readonly #pages = new Map<string, MaybePromise<PreparedPage>>();

  /** `startedMs` (epoch) dates the files. They are coded from now on, one after another. */
  constructor(sources: readonly PageSource[], coder: Coder, startedMs: number) {
    for (const source of sources) {
      const prepared = preparePage(source, startedMs, coder);
      this.#pages.set(source.path, prepared);
      void prepared.then((made) => this.#pages.set(source.path, made));
    }
  }

  /** The addresses of all pages. */
  get paths(): Iterable<string> {
    return this.#pages.keys();
  }

  /** A promise only until the page is coded. */
  reply(path: string, request: IncomingHttpHeaders): MaybePromise<Reply> {
    const page = this.#pages.get(path);
    if (page === undefined) throw new Error(`There is no page at ${path}`);
    return chain(page, (prepared) => pageReply(prepared, request, PUBLIC_CACHE));
  }
}

/** Makes the forms of a page that changed last at `modifiedMs` (epoch). Without a coder it is sent as it is. */
export async function preparePage(
  { path, body: source, mediaType, headers }: PageSource | InPieces,
  modifiedMs: number,
  coder: Coder | null,
): Promise<PreparedPage> {
  const body = await source;
  const pieces = Buffer.isBuffer(body) ? [body] : body;
  const coded = coder === null ? [] : await coder.forms(Buffer.concat(pieces));
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  const sha256 = hash.digest("hex");
  const forms = new Map<Coding, PageForm>();
  for (const [coding, bytes] of [["identity" as Coding, body] as const, ...coded]) {
    const parts = Buffer.isBuffer(bytes) ? [bytes] : bytes;
    const etag = tagOf(path, sha256, coding);
    const shared = {
      ...CORS_HEADERS,
      vary: VARY,
      etag,
      "last-modified": new Date(modifiedMs).toUTCString(),
    };
    const fields = flatFields({
      ...shared,
      ...headers,
      "content-type": mediaType,
      "content-length": String(parts.reduce((sum, { length }) => sum + length, 0)),
      ...(coding !== "identity" && { "content-encoding": coding }),
    });
    forms.set(coding, {
      etag,
      whole: { status: 200, fields, body: bytes },
      notModified: { status: 304, fields: flatFields(shared), body: null },
    });
  }
  return { modifiedMs, forms };
}

/** The page in the coding that the caller prefers, or a 304. */
export function pageReply(
  { modifiedMs, forms }: PreparedPage,
  request: IncomingHttpHeaders,
  cacheControl: string,
): Reply {
  const coding = chooseCoding(request["accept-encoding"], forms);
  const { etag, whole, notModified } = forms.get(coding) as PageForm;
  const reply = isNotModified(request, etag, modifiedMs) ? notModified : whole;
  return { ...reply, cacheControl };
}
