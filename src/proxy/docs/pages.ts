/** Fixed files: the OpenAPI document and the documentation page with what it needs. */
import type { IncomingHttpHeaders } from "node:http";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import { isNotModified } from "../conditional.ts";
import { codedForms, type CodedForms } from "../coder.ts";
import { chooseCoding, etagOf } from "../content-coding.ts";
import { headerText } from "../header-text.ts";
import { CORS_HEADERS, VARY, type Reply } from "../reply.ts";

/** Short, so that a new version of the service is seen soon; the tags make asking again cheap. */
const MAX_AGE_SECONDS = 60;

/** A fixed file as it is made; answers are made of it. */
export interface PageSource {
  readonly path: string;
  readonly mediaType: string;
  readonly body: Buffer;
  /** Further header fields of this file. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Page {
  readonly source: PageSource;
  readonly etagRoot: string;
  /** Null until they are made. */
  coded: CodedForms | null;
}

/** The fixed files of one process, each coded when it is first asked for. */
export class Pages {
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #startedMs: number;

  /** `startedMs` (epoch) dates the files. */
  constructor(sources: readonly PageSource[], startedMs: number) {
    this.#startedMs = startedMs;
    this.#pages = new Map(
      sources.map((source): [string, Page] => {
        const etagRoot = sha256Hex(source.body).slice(0, 32);
        return [source.path, { source, etagRoot, coded: null }];
      }),
    );
  }

  /** Codes the files that nobody has asked for yet. */
  async prepare(): Promise<void> {
    for (const page of this.#pages.values()) page.coded ??= await codedForms(page.source.body);
  }

  /** A promise only for the first to ask. */
  reply(path: string, request: IncomingHttpHeaders): MaybePromise<Reply> {
    const page = this.#pages.get(path);
    if (page === undefined) throw new Error(`There is no page at ${path}`);
    if (page.coded !== null) return this.#reply(page, page.coded, request);
    return codedForms(page.source.body).then((coded) => {
      page.coded = coded;
      return this.#reply(page, coded, request);
    });
  }

  #reply({ source, etagRoot }: Page, coded: CodedForms, request: IncomingHttpHeaders): Reply {
    const coding = chooseCoding(request["accept-encoding"], coded);
    const body = coded.get(coding) ?? source.body;
    const headers = {
      ...CORS_HEADERS,
      vary: VARY,
      etag: etagOf(etagRoot, coding),
      "last-modified": new Date(this.#startedMs).toUTCString(),
      "cache-control": `private, max-age=${MAX_AGE_SECONDS}`,
    };
    if (isNotModified(request, headers.etag, this.#startedMs)) {
      return { status: 304, headers: headerText(headers), body: null };
    }
    return {
      status: 200,
      body,
      headers: headerText({
        ...headers,
        ...source.headers,
        "content-type": source.mediaType,
        "content-length": String(body.length),
        ...(coding !== "identity" && { "content-encoding": coding }),
      }),
    };
  }
}
