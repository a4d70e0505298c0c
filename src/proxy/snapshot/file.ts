/**
 * A file of the live snapshot, ready to be sent: its bytes in every coding with the header fields
 * of each, made once. Where sessions are overdue, payloads carry the raised `delayed_sessions`:
 * the file is patched and coded again once for each such number, never per request.
 */
import { sessionKey } from "../../market/session.ts";
import type { TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../payload/envelope.ts";
import { codedForms, type CodedForms } from "../coder.ts";
import { etagOf, type Coding } from "../content-coding.ts";
import { headerText, type HeaderText } from "../header-text.ts";
import { quickBody, type Body } from "../reply.ts";
import { modifiedMs, snapshotHeaders, type SnapshotStamp, type TierPosition } from "./stamp.ts";
import { raised } from "./stream.ts";

interface FileDescription {
  readonly stamp: SnapshotStamp;
  readonly tier: TierName;
  readonly position: TierPosition;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly mediaType: string;
  /** A download, offered under a name with this extension; null for payloads (JSON). */
  readonly exportAs: "csv" | "xlsx" | null;
}

/** The bytes: in memory, or read (and proven) from the store each time. */
export type FileSource =
  | { readonly plain: Buffer }
  | { readonly open: () => Promise<ReadableStream<Uint8Array>> };

type PlainBody = Buffer | (() => Promise<ReadableStream<Uint8Array>>);

/** What is sent: the bytes in one coding, with what is said about them. */
export interface Representation {
  readonly etag: string;
  /** For Last-Modified and If-Modified-Since (epoch milliseconds). */
  readonly modifiedMs: number;
  /** Of a 200, but for what is said of the moment: cache-control, quota, date. */
  readonly headers: HeaderText;
  /** Of a 304, likewise. */
  readonly notModifiedHeaders: HeaderText;
  /** A function opens a stream: each answer needs its own. */
  readonly body: Body | (() => Promise<ReadableStream<Uint8Array>>);
}

/** The file while `overdue` sessions are missing. */
export interface Variant {
  readonly overdue: number;
  readonly plain: Representation;
  /** Without those that are no smaller than the plain one. */
  readonly coded: ReadonlyMap<Coding, Representation>;
}

/** One file of one snapshot. */
export class PreparedFile {
  readonly #file: FileDescription;
  readonly #source: FileSource;
  readonly #etagRoot: string;
  #current: Variant | null = null;
  #building: { readonly overdue: number; readonly variant: Promise<Variant> } | null = null;

  constructor(file: FileDescription, source: FileSource) {
    this.#file = file;
    this.#source = source;
    this.#etagRoot = Buffer.from(file.sha256.slice(0, 32), "hex").toString("base64url");
  }

  /** What to send while `overdue` sessions are missing. A promise only for the first to ask. */
  variant(overdue: number): Variant | Promise<Variant> {
    if (this.#current?.overdue === overdue) return this.#current;
    if (this.#building?.overdue === overdue) return this.#building.variant;
    const variant = this.#build(overdue);
    this.#building = { overdue, variant };
    return variant;
  }

  async #build(overdue: number): Promise<Variant> {
    try {
      const bytes = this.#plainBody(overdue);
      const plain = this.#representation(overdue, "identity", bytes);
      const coded = new Map<Coding, Representation>();
      for (const [coding, form] of await this.#codedForms(bytes)) {
        coded.set(coding, this.#representation(overdue, coding, form));
      }
      this.#current = { overdue, plain, coded };
      return this.#current;
    } finally {
      this.#building = null;
    }
  }

  #plainBody(overdue: number): PlainBody {
    const source = this.#source;
    if (!this.#isRaised(overdue)) return "plain" in source ? source.plain : source.open;
    if ("plain" in source) return raiseDelay(source.plain, overdue);
    return async () => (await source.open()).pipeThrough(raised(overdue));
  }

  /** A workbook is compressed already; what is streamed is sent as it is stored. */
  async #codedForms(plain: PlainBody): Promise<CodedForms> {
    if (this.#file.exportAs === "xlsx" || !Buffer.isBuffer(plain)) return new Map();
    return codedForms(plain);
  }

  #representation(overdue: number, coding: Coding, plain: PlainBody): Representation {
    const { stamp, position, mediaType, exportAs, tier } = this.#file;
    const etag = this.#etag(overdue, coding);
    const shared = { ...snapshotHeaders(stamp, position, overdue), etag };
    const sizeBytes = Buffer.isBuffer(plain) ? plain.length : this.#plainBytes(overdue);
    const body = Buffer.isBuffer(plain) ? quickBody(plain) : plain;
    const headers = headerText({
      ...shared,
      "content-type": mediaType,
      "content-length": String(sizeBytes),
      ...(coding !== "identity" && { "content-encoding": coding }),
      ...(exportAs !== null && {
        "content-disposition": `attachment; filename="chipboard-${sessionKey(position.session)}-${tier}.${exportAs}"`,
      }),
    });
    const notModifiedHeaders = headerText(shared);
    return { etag, modifiedMs: modifiedMs(stamp, overdue), headers, notModifiedHeaders, body };
  }

  /**
   * The bytes follow from the stored ones (by their digest), the sessions added and the coding; so
   * does the tag. Proxies that hold and that stream a file give the same.
   */
  #etag(overdue: number, coding: Coding): string {
    const delay = this.#isRaised(overdue) ? `~${overdue}` : "";
    return etagOf(this.#etagRoot + delay, coding);
  }

  /** Exports carry no delay in their bytes. */
  #isRaised(overdue: number): boolean {
    return overdue > 0 && this.#file.exportAs === null;
  }

  #plainBytes(overdue: number): number {
    const { sizeBytes, position } = this.#file;
    if (!this.#isRaised(overdue)) return sizeBytes;
    const { delayedSessions } = position;
    return sizeBytes + String(delayedSessions + overdue).length - String(delayedSessions).length;
  }
}
