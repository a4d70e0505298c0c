/** Fixed files: the OpenAPI document and the documentation page with what it needs. */
import type { IncomingHttpHeaders } from "node:http";
import { sha256Hex } from "../snapshot/digest.ts";
import { isNotModified } from "./conditional.ts";
import { chooseCoding, codedForms, type Coding } from "./content-coding.ts";
import { CORS_HEADERS, headerLines, VARY, type Reply } from "./reply.ts";

/** Short, so that a new version of the service is seen soon; the tags make asking again cheap. */
const MAX_AGE_SECONDS = 60;

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
  readonly coded: ReadonlyMap<Coding, Buffer>;
}

export class Pages {
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #startedMs: number;

  private constructor(pages: ReadonlyMap<string, Page>, startedMs: number) {
    this.#pages = pages;
    this.#startedMs = startedMs;
  }

  /** Codes the files once. `startedMs` (epoch) dates them. */
  static async prepare(sources: readonly PageSource[], startedMs: number): Promise<Pages> {
    const pages = await Promise.all(
      sources.map(async (source): Promise<[string, Page]> => {
        const etagRoot = sha256Hex(source.body).slice(0, 32);
        return [source.path, { source, etagRoot, coded: await codedForms(source.body) }];
      }),
    );
    return new Pages(new Map(pages), startedMs);
  }

  reply(path: string, request: IncomingHttpHeaders): Reply {
    const page = this.#pages.get(path);
    if (page === undefined) throw new Error(`No page is prepared for ${path}`);
    const { source, etagRoot, coded } = page;
    const coding = chooseCoding(request["accept-encoding"], coded);
    const body = coded.get(coding) ?? source.body;
    const headers = {
      ...CORS_HEADERS,
      vary: VARY,
      etag: `"${etagRoot}${coding === "identity" ? "" : `-${coding}`}"`,
      "last-modified": new Date(this.#startedMs).toUTCString(),
      "cache-control": `private, max-age=${MAX_AGE_SECONDS}`,
    };
    if (isNotModified(request, headers.etag, this.#startedMs)) {
      return { status: 304, headers: headerLines(headers), body: null };
    }
    return {
      status: 200,
      body,
      headers: headerLines({
        ...headers,
        ...source.headers,
        "content-type": source.mediaType,
        "content-length": String(body.length),
        ...(coding !== "identity" && { "content-encoding": coding }),
      }),
    };
  }
}
