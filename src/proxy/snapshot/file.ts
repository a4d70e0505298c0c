/**
 * A file of a snapshot, ready to send. While sessions are overdue, payloads carry a raised
 * `delayed_sessions`: the file is patched and digested once when that number changes, never per
 * request, and is sent uncompressed until its coded forms are made again.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import { sessionKey } from "../../market/session.ts";
import type { TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../render/envelope.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import type { HeaderFields } from "../answer.ts";
import { chain } from "../chain.ts";
import {
  chooseCoding,
  CODINGS,
  tagOf,
  type CodedForms,
  type Coder,
  type Coding,
} from "../coding.ts";
import { requestedPart } from "../range.ts";
import {
  representation,
  type OpenBody,
  type Representation,
  type SnapshotStamp,
  type TierPosition,
} from "./representation.ts";
import { raised } from "./stream.ts";

const HISTORY_CSV_END = "-history.csv";

/** What a file is, and whose. */
export interface FileDescription {
  readonly stamp: SnapshotStamp;
  /** Relative to the snapshot's folder. */
  readonly path: string;
  readonly tier: TierName;
  readonly position: TierPosition;
  readonly sizeBytes: number;
  /** SHA-256 (hex) of the stored bytes. */
  readonly sha256: string;
  /** JSON: a payload, which has the delay in its bytes. */
  readonly mediaType: string;
  /** The end of a download's file name, `-history.csv`; null: no download. */
  readonly nameEnd: string | null;
}

/** The representation in each coding while `overdue` sessions are missing. */
interface Forms {
  readonly overdue: number;
  /** SHA-256 (hex) of the identity bytes. */
  readonly sha256: string;
  readonly byCoding: Map<Coding, Representation>;
}

/** One file of one snapshot with its representations. */
export class PreparedFile {
  readonly #file: FileDescription;
  /** The bytes in memory, or a function that streams and verifies them from the store. */
  readonly #source: Buffer | OpenBody;
  readonly #coder: Coder | null;
  #forms: Forms | null = null;
  /** The coded forms of a file without the delay in its bytes are made only once. */
  #fixedForms: CodedForms | null = null;
  /** SHA-256 (hex) of the stream with the delay raised by `overdue` sessions. */
  #raised: { readonly overdue: number; readonly sha256: Promise<string> } | null = null;
  /** Resolves when the first coded forms are made; null afterwards. */
  #coding: Promise<void> | null = null;

  /** Without a coder the file is always sent uncompressed. */
  constructor(file: FileDescription, source: Buffer | OpenBody, coder: Coder | null) {
    this.#file = file;
    this.#source = source;
    this.#coder = coder;
  }

  /**
   * What to send while `overdue` sessions are missing. Returns a promise to a caller who wants a coded
   * form until these are made for the first time: when the delay changes later, no request waits for
   * them. Also if the file is streamed and its delay has changed: it is read once for its digest.
   * A GET with Range gets a part of a download, except of a history as CSV: its bytes do not depend on
   * the delay.
   */
  answer(
    overdue: number,
    { method, headers }: Pick<IncomingMessage, "method" | "headers">,
  ): MaybePromise<Representation> {
    return chain(this.#byCoding(overdue), (byCoding) => {
      const isParted = method === "GET" && this.#ranges === "bytes";
      const part = isParted && requestedPart(byCoding.get("identity") as Representation, headers);
      if (part) return part;
      const acceptEncoding = headers["accept-encoding"];
      const choose = (): Representation =>
        byCoding.get(chooseCoding(acceptEncoding, byCoding)) as Representation;
      if (this.#coding === null || chooseCoding(acceptEncoding, CODINGS) === "identity")
        return choose();
      return this.#coding.then(choose);
    });
  }

  /** Resolves when the first coded forms are made. */
  async coded(overdue: number): Promise<void> {
    await this.#byCoding(overdue);
    await this.#coding;
  }

  #byCoding(overdue: number): MaybePromise<Forms["byCoding"]> {
    if (this.#forms?.overdue === overdue) return this.#forms.byCoding;
    const plain = this.#plain(overdue);
    return chain(this.#sha256(overdue, plain), (sha256) => this.#prepare(overdue, plain, sha256));
  }

  #prepare(overdue: number, plain: Buffer | OpenBody, sha256: string): Forms["byCoding"] {
    const isFirst = this.#forms === null;
    const identity = this.#represent(overdue, "identity", plain, sha256);
    const forms = { overdue, sha256, byCoding: new Map([["identity" as Coding, identity]]) };
    this.#forms = forms;
    // These formats are compressed already, and a stream is sent uncompressed.
    const isCoded =
      this.#coder !== null &&
      Buffer.isBuffer(plain) &&
      !/\.(?:xlsx|parquet)$/.test(this.#file.path);
    if (!isCoded) return forms.byCoding;
    if (this.#fixedForms !== null) {
      this.#add(this.#fixedForms, forms);
      return forms.byCoding;
    }
    const coding = this.#code(this.#coder, forms, plain);
    if (isFirst) this.#coding = coding;
    return forms.byCoding;
  }

  async #code(coder: Coder, forms: Forms, plain: Buffer): Promise<void> {
    const coded = await coder.forms(plain);
    if (!this.#hasDelay) this.#fixedForms = coded;
    this.#add(coded, forms);
    this.#coding = null;
  }

  #add(coded: CodedForms, { overdue, sha256, byCoding }: Forms): void {
    for (const [name, bytes] of coded) {
      byCoding.set(name, this.#represent(overdue, name, bytes, sha256));
    }
  }

  /** SHA-256 (hex) of the identity bytes. */
  #sha256(overdue: number, plain: Buffer | OpenBody): MaybePromise<string> {
    if (!this.#isRaised(overdue)) return this.#file.sha256;
    if (Buffer.isBuffer(plain)) return sha256Hex(plain);
    if (this.#raised?.overdue !== overdue) {
      this.#raised = { overdue, sha256: digestOf(plain) };
      // The next request reads it again.
      this.#raised.sha256.catch(() => (this.#raised = null));
    }
    return this.#raised.sha256;
  }

  #plain(overdue: number): Buffer | OpenBody {
    const source = this.#source;
    if (!this.#isRaised(overdue)) return source;
    if (Buffer.isBuffer(source)) return raiseDelay(source, overdue);
    return async () => (await source()).pipeThrough(raised(overdue));
  }

  #represent(
    overdue: number,
    coding: Coding,
    plain: Buffer | OpenBody,
    sha256: string,
  ): Representation {
    const { stamp, path, position } = this.#file;
    const delay = this.#isRaised(overdue) ? String(overdue) : "";
    return representation({
      stamp,
      position,
      overdue,
      etag: tagOf(stamp.manifestSha256, path, delay, coding),
      plain,
      sha256,
      sizeBytes: this.#sizeBytes(overdue),
      coding,
      content: this.#content(),
    });
  }

  #content(): HeaderFields {
    const { mediaType, nameEnd, tier, position } = this.#file;
    if (nameEnd === null) return { "content-type": mediaType };
    const name = `chipboard-${sessionKey(position.session)}-${tier}${nameEnd}`;
    return {
      "content-type": mediaType,
      "content-disposition": `attachment; filename="${name}"`,
      "accept-ranges": this.#ranges,
    };
  }

  get #ranges(): "bytes" | "none" {
    const { nameEnd } = this.#file;
    return nameEnd === null || nameEnd === HISTORY_CSV_END ? "none" : "bytes";
  }

  /** Whether the delay is in the bytes, as it is in those of payloads. */
  get #hasDelay(): boolean {
    return this.#file.mediaType === JSON_TYPE;
  }

  #isRaised(overdue: number): boolean {
    return overdue > 0 && this.#hasDelay;
  }

  #sizeBytes(overdue: number): number {
    const { sizeBytes, position } = this.#file;
    if (!this.#isRaised(overdue)) return sizeBytes;
    const { delayedSessions } = position;
    return sizeBytes + String(delayedSessions + overdue).length - String(delayedSessions).length;
  }
}

async function digestOf(open: OpenBody): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of await open()) hash.update(piece);
  return hash.digest("hex");
}
