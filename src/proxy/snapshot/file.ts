/**
 * A file of a snapshot, ready to send. While sessions are overdue, payloads carry a raised
 * `delayed_sessions`: the file is patched once when that number changes, never per request, and is
 * sent uncompressed until its coded forms are made again.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import { sessionKey } from "../../market/session.ts";
import type { TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../render/envelope.ts";
import type { HeaderFields } from "../answer.ts";
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

/** What a file is, and whose. */
export interface FileDescription {
  readonly stamp: SnapshotStamp;
  /** Relative to the snapshot's folder. */
  readonly path: string;
  readonly tier: TierName;
  readonly position: TierPosition;
  readonly sizeBytes: number;
  readonly mediaType: string;
  /** The end of a download's file name, `-history.csv`; null: a payload (JSON). */
  readonly nameEnd: string | null;
}

/** The representation in each coding while `overdue` sessions are missing. */
interface Forms {
  readonly overdue: number;
  readonly byCoding: Map<Coding, Representation>;
}

/** One file of one snapshot with its representations. */
export class PreparedFile {
  readonly #file: FileDescription;
  /** The bytes in memory, or a function that streams and verifies them from the store. */
  readonly #source: Buffer | OpenBody;
  readonly #coder: Coder | null;
  #forms: Forms | null = null;
  /** A download has no delay in its bytes, so its coded forms are made only once. */
  #downloadForms: CodedForms | null = null;
  /** Resolves when the first coded forms are made; null afterwards. */
  #coding: Promise<void> | null = null;

  /** Without a coder the file is always sent uncompressed. */
  constructor(file: FileDescription, source: Buffer | OpenBody, coder: Coder | null) {
    this.#file = file;
    this.#source = source;
    this.#coder = coder;
  }

  /**
   * What to send while `overdue` sessions are missing. Returns a promise only to a caller who wants a
   * coded form, and only until these are made for the first time: when the delay changes later, no
   * request waits.
   */
  answer(overdue: number, acceptEncoding: string | undefined): MaybePromise<Representation> {
    const byCoding = this.#byCoding(overdue);
    const choose = (): Representation =>
      byCoding.get(chooseCoding(acceptEncoding, byCoding)) as Representation;
    if (this.#coding === null || chooseCoding(acceptEncoding, CODINGS) === "identity")
      return choose();
    return this.#coding.then(choose);
  }

  /**
   * What to send to a GET with Range. Downloads answer it; their bytes do not depend on the delay.
   * Null: what `answer` says.
   */
  part(overdue: number, headers: IncomingHttpHeaders): Representation | null {
    if (this.#file.nameEnd === null) return null;
    return requestedPart(this.#byCoding(overdue).get("identity") as Representation, headers);
  }

  /** Resolves when the first coded forms are made. */
  async coded(overdue: number): Promise<void> {
    this.#byCoding(overdue);
    await this.#coding;
  }

  #byCoding(overdue: number): Forms["byCoding"] {
    if (this.#forms?.overdue !== overdue) this.#prepare(overdue);
    return (this.#forms as Forms).byCoding;
  }

  #prepare(overdue: number): void {
    const isFirst = this.#forms === null;
    const plain = this.#plain(overdue);
    const byCoding = new Map([["identity" as Coding, this.#represent(overdue, "identity", plain)]]);
    this.#forms = { overdue, byCoding };
    if (this.#coder === null) return;
    // These formats are compressed already, and a stream is sent uncompressed.
    if (/\.(?:xlsx|parquet)$/.test(this.#file.path) || !Buffer.isBuffer(plain)) return;
    if (this.#downloadForms !== null) {
      this.#add(this.#downloadForms, overdue, byCoding);
      return;
    }
    const coding = this.#code(this.#coder, overdue, byCoding, plain);
    if (isFirst) this.#coding = coding;
  }

  async #code(
    coder: Coder,
    overdue: number,
    byCoding: Forms["byCoding"],
    plain: Buffer,
  ): Promise<void> {
    const forms = await coder.forms(plain);
    if (this.#file.nameEnd !== null) this.#downloadForms = forms;
    this.#add(forms, overdue, byCoding);
    this.#coding = null;
  }

  #add(forms: CodedForms, overdue: number, byCoding: Forms["byCoding"]): void {
    for (const [name, bytes] of forms) byCoding.set(name, this.#represent(overdue, name, bytes));
  }

  #plain(overdue: number): Buffer | OpenBody {
    const source = this.#source;
    if (!this.#isRaised(overdue)) return source;
    if (Buffer.isBuffer(source)) return raiseDelay(source, overdue);
    return async () => (await source()).pipeThrough(raised(overdue));
  }

  #represent(overdue: number, coding: Coding, plain: Buffer | OpenBody): Representation {
    const { stamp, path, position } = this.#file;
    const delay = this.#isRaised(overdue) ? String(overdue) : "";
    return representation({
      stamp,
      position,
      overdue,
      etag: tagOf(stamp.manifestSha256, path, delay, coding),
      plain,
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
      "accept-ranges": "bytes",
    };
  }

  /** Whether the bytes carry a raised delay; downloads have none in their bytes. */
  #isRaised(overdue: number): boolean {
    return overdue > 0 && this.#file.nameEnd === null;
  }

  #sizeBytes(overdue: number): number {
    const { sizeBytes, position } = this.#file;
    if (!this.#isRaised(overdue)) return sizeBytes;
    const { delayedSessions } = position;
    return sizeBytes + String(delayedSessions + overdue).length - String(delayedSessions).length;
  }
}
