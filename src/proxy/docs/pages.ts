/** Fixed files: the OpenAPI document and the pages, with what they need. */
import type { IncomingHttpHeaders } from "node:http";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import { CORS_HEADERS, flatFields, VARY, type HeaderFields, type Reply } from "../answer.ts";
import { chain } from "../chain.ts";
import { chooseCoding, tagOf, type Coder, type Coding } from "../coding.ts";
import { isNotModified } from "../conditional.ts";

/** Short, so that a new version of the service is seen soon; the tags make asking again cheap. */
const MAX_AGE_SECONDS = 60;

/** A fixed file as it is made; answers are made of it. */
export interface PageSource {
  readonly path: string;
  readonly mediaType: string;
  readonly body: Buffer;
  /** Further header fields of this file. */
  readonly headers?: HeaderFields;
}

/** What is sent of a page in one coding. */
interface PageForm {
  readonly etag: string;
  readonly whole: Reply;
  readonly notModified: Reply;
}
type PageForms = ReadonlyMap<Coding, PageForm>;

/** The fixed files of one process. */
export class Pages {
  readonly #pages = new Map<string, MaybePromise<PageForms>>();
  readonly #startedMs: number;

  /** `startedMs` (epoch) dates the files. They are coded from now on, one after another. */
  constructor(sources: readonly PageSource[], coder: Coder, startedMs: number) {
    this.#startedMs = startedMs;
    for (const source of sources) {
      const forms = this.#forms(source, coder);
      this.#pages.set(source.path, forms);
      void forms.then((made) => this.#pages.set(source.path, made));
    }
  }

  /** A promise only until the page is coded. */
  reply(path: string, request: IncomingHttpHeaders): MaybePromise<Reply> {
    const page = this.#pages.get(path);
    if (page === undefined) throw new Error(`There is no page at ${path}`);
    return chain(page, (forms) => {
      const coding = chooseCoding(request["accept-encoding"], forms);
      const { etag, whole, notModified } = forms.get(coding) as PageForm;
      return isNotModified(request, etag, this.#startedMs) ? notModified : whole;
    });
  }

  async #forms({ path, body, mediaType, headers }: PageSource, coder: Coder): Promise<PageForms> {
    const bodies = new Map([["identity" as Coding, body], ...(await coder.forms(body))]);
    const forms = new Map<Coding, PageForm>();
    for (const [coding, bytes] of bodies) {
      const etag = tagOf(path, body.toString("latin1"), coding);
      const shared = {
        ...CORS_HEADERS,
        vary: VARY,
        etag,
        "last-modified": new Date(this.#startedMs).toUTCString(),
        "cache-control": `private, max-age=${MAX_AGE_SECONDS}`,
      };
      const fields = flatFields({
        ...shared,
        ...headers,
        "content-type": mediaType,
        "content-length": String(bytes.length),
        ...(coding !== "identity" && { "content-encoding": coding }),
      });
      forms.set(coding, {
        etag,
        whole: { status: 200, fields, body: bytes },
        notModified: { status: 304, fields: flatFields(shared), body: null },
      });
    }
    return forms;
  }
}
