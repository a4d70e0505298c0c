/**
 * A file of a snapshot, ready to send. While sessions are overdue, payloads carry a raised
 * `delayed_sessions`: the file is patched and digested once when that number changes, never per
 * request, and is sent uncompressed until its coded forms are made again.
 */
import { createHash } from "node:crypto";
import { sessionKey, sessionUtc, type Session } from "../../market/session.ts";
import type { TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../render/envelope.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import { CODINGS, type CodedForms, type Coder, type Coding } from "./coding.ts";
import { chooseCoding } from "./intent.ts";
import {
  entityOf,
  tagOf,
  type Entity,
  type Forms,
  type HeaderFields,
  type OpenBody,
} from "./entity.ts";
import { modifiedMsOf, type SnapshotStamp } from "./freshness.ts";
import { raised } from "./stream.ts";

/** The ends of downloads that come whole. */
const WHOLE = /^-(?:history|levels|indices)\.csv$/;

/** The session of a tier's payloads, and its delay when nothing is overdue. */
export interface TierPosition {
  readonly session: Session;
  /** Sessions of 12 hours behind the head. */
  readonly delayedSessions: number;
}

/** An entity of a snapshot while `overdue` sessions are missing. */
export const snapshotEntity = (
  stamp: SnapshotStamp,
  { session, delayedSessions }: TierPosition,
  overdue: number,
  parts: Omit<Parameters<typeof entityOf>[0], "modifiedMs" | "shared">,
): Entity =>
  entityOf({
    ...parts,
    modifiedMs: modifiedMsOf(stamp, overdue),
    shared: {
      "x-session-utc": sessionUtc(session),
      "x-delayed-sessions": String(delayedSessions + overdue),
      "x-snapshot": stamp.text,
      "x-publication": String(stamp.publication),
    },
  });

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

/** One file of one snapshot, in each coding. */
export class PreparedFile {
  readonly #file: FileDescription;
  /** The bytes in memory, or a function that streams and verifies them from the store. */
  readonly #source: Buffer | OpenBody;
  readonly #coder: Coder | null;
  #latest: { readonly overdue: number; readonly forms: Promise<Forms> } | null = null;
  /** The coded forms of a file without the delay in its bytes are made only once. */
  #fixedForms: CodedForms | null = null;
  /** Resolves when the first coded forms are made; null afterwards. */
  #coding: Promise<void> | null = null;

  /** Without a coder the file is always sent uncompressed. */
  constructor(file: FileDescription, source: Buffer | OpenBody, coder: Coder | null) {
    this.#file = file;
    this.#source = source;
    this.#coder = coder;
  }

  /**
   * What to send while `overdue` sessions are missing. A caller who wants a coded form waits until
   * these are made for the first time: when the delay changes later, no request waits for them. A
   * streamed file whose delay has changed is read once for its digest.
   */
  async forms(overdue: number, acceptEncoding?: string): Promise<Forms> {
    const forms = await this.#prepared(overdue);
    if (this.#coding !== null && chooseCoding(acceptEncoding, CODINGS) !== "identity") {
      await this.#coding;
    }
    return forms;
  }

  /** Resolves when the first coded forms are made. */
  async coded(overdue: number): Promise<void> {
    await this.#prepared(overdue);
    await this.#coding;
  }

  #prepared(overdue: number): Promise<Forms> {
    if (this.#latest?.overdue === overdue) return this.#latest.forms;
    const latest = { overdue, forms: this.#prepare(overdue, this.#latest === null) };
    this.#latest = latest;
    latest.forms.catch(() => {
      if (this.#latest === latest) this.#latest = null;
    });
    return latest.forms;
  }

  async #prepare(overdue: number, isFirst: boolean): Promise<Forms> {
    const plain = this.#plain(overdue);
    const sha256 = this.#isRaised(overdue) ? await digestOf(plain) : this.#file.sha256;
    const add = (coding: Coding, body: Buffer | OpenBody): void => {
      forms.set(coding, this.#entity(overdue, coding, body, sha256));
    };
    const forms = new Map<Coding, Entity>();
    add("identity", plain);
    // These formats are compressed already, and a stream is sent uncompressed.
    const isCoded = Buffer.isBuffer(plain) && !/\.(?:xlsx|parquet)$/.test(this.#file.path);
    if (this.#coder === null || !isCoded) return forms;
    if (this.#fixedForms !== null) {
      for (const [coding, body] of this.#fixedForms) add(coding, body);
      return forms;
    }
    const coding = this.#code(this.#coder, plain, add);
    if (isFirst) this.#coding = coding;
    return forms;
  }

  async #code(
    coder: Coder,
    plain: Buffer,
    add: (coding: Coding, body: Buffer) => void,
  ): Promise<void> {
    const coded = await coder.forms(plain);
    if (!this.#hasDelay) this.#fixedForms = coded;
    for (const [coding, body] of coded) add(coding, body);
    this.#coding = null;
  }

  #plain(overdue: number): Buffer | OpenBody {
    const source = this.#source;
    if (!this.#isRaised(overdue)) return source;
    if (Buffer.isBuffer(source)) return raiseDelay(source, overdue);
    return async () => (await source()).pipeThrough(raised(overdue));
  }

  #entity(overdue: number, coding: Coding, body: Buffer | OpenBody, sha256: string): Entity {
    const { stamp, path, position } = this.#file;
    const delay = this.#isRaised(overdue) ? String(overdue) : "";
    return snapshotEntity(stamp, position, overdue, {
      etag: tagOf(stamp.manifestSha256, path, delay, coding),
      body,
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
      "accept-ranges": WHOLE.test(nameEnd) ? "none" : "bytes",
    };
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

async function digestOf(body: Buffer | OpenBody): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of Buffer.isBuffer(body) ? [body] : await body()) hash.update(piece);
  return hash.digest("hex");
}
