/**
 * A file of a snapshot, ready to send. While sessions are overdue, payloads carry a raised
 * `delayed_sessions`: the file is patched, digested and coded once when that number changes, never per
 * request.
 */
import { createHash } from "node:crypto";
import { sessionKey, sessionUtc, type Session } from "../../market/session.ts";
import type { TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../render/envelope.ts";
import {
  coded,
  inflated,
  inflatedHeader,
  inflatedPart,
  partsOf,
  type Part,
} from "../../snapshot/coded.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import type { FileEntry } from "../../snapshot/manifest.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import type { ObjectPart } from "../../store/object-store.ts";
import {
  entityOf,
  tagOf,
  type Coding,
  type Entity,
  type Forms,
  type HeaderFields,
} from "./entity.ts";
import { modifiedMsOf, type SnapshotStamp } from "./freshness.ts";
import { inflating, raised, type OpenBody, type OpenStream } from "./stream.ts";

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

export interface FileDescription {
  readonly stamp: SnapshotStamp;
  /** JSON: a payload, which has the delay in its bytes. */
  readonly entry: FileEntry;
  readonly tier: TierName;
  readonly position: TierPosition;
  /** The end of a download's file name, `-history.csv`; null: no download. */
  readonly nameEnd: string | null;
}

/** The bytes of a file: in memory, or by functions that verify them and stream or inflate them. */
export interface Source {
  readonly plain: Buffer | OpenBody;
  /** Null: the file has no coded form. */
  readonly gzip: Buffer | OpenStream | null;
  /** Reads a part of the coded form, which is not proven yet. */
  readonly piece: (part: ObjectPart) => Promise<Buffer>;
}

/** A source with the size and the digest of its plain bytes. */
type Sized = Omit<Source, "piece"> & Pick<FileEntry, "bytes" | "sha256">;

/** One file of one snapshot, plain and coded. */
export class PreparedFile {
  readonly #file: FileDescription;
  readonly #source: Source;
  #latest: { readonly overdue: number; readonly forms: Promise<Forms> } | null = null;

  constructor(file: FileDescription, source: Source) {
    this.#file = file;
    this.#source = source;
  }

  /**
   * What to send while `overdue` sessions are missing. A streamed payload whose delay has changed is read
   * once for its digest, and is sent plain.
   */
  forms(overdue: number): Promise<Forms> {
    if (this.#latest?.overdue === overdue) return this.#latest.forms;
    const latest = { overdue, forms: this.#prepare(overdue) };
    this.#latest = latest;
    latest.forms.catch(() => {
      if (this.#latest === latest) this.#latest = null;
    });
    return latest.forms;
  }

  async #prepare(overdue: number): Promise<Forms> {
    const { entry } = this.#file;
    const { plain, gzip, bytes, sha256 }: Sized = this.#isRaised(overdue)
      ? await raisedSource(this.#source, entry, overdue)
      : { ...this.#source, bytes: entry.bytes, sha256: entry.sha256 };
    return this.#formsOf(overdue, "", { plain, gzip, bytes, sha256 }, this.#content());
  }

  /** `name` tells lines of the file from others; the whole has an empty one. */
  #formsOf(
    overdue: number,
    name: string,
    { plain, gzip, bytes, sha256 }: Sized,
    content: HeaderFields,
  ): Forms {
    const { stamp, position, entry } = this.#file;
    const raisedBy = this.#isRaised(overdue) ? String(overdue) : "";
    const formOf = (coding: Coding, body: Entity["body"], sizeBytes: number): Entity => {
      const etag = tagOf(stamp.manifestSha256, entry.path, name, raisedBy, coding);
      const parts = { etag, body, sha256, sizeBytes, coding, content };
      return snapshotEntity(stamp, position, overdue, parts);
    };
    return {
      identity: formOf("identity", plain, bytes),
      ...(gzip !== null && { gzip: formOf("gzip", gzip, entry.gzip?.bytes ?? 0) }),
    };
  }

  /** Payloads have the delay in their bytes. */
  #isRaised(overdue: number): boolean {
    return overdue > 0 && this.#file.entry.media_type === JSON_TYPE;
  }

  /** The parts of a long file; none: it is read as a whole. */
  get parts(): readonly Part[] {
    return partsOf(this.#file.entry);
  }

  /** The header of a file with parts. Throws DamageError if it has no text of one. */
  async header(): Promise<string> {
    const [first] = this.parts as [Part];
    const bytes = { at: 0, end: first.coded.at };
    return String(await inflatedHeader(await this.#source.piece(bytes), first.at, this.#where));
  }

  /** The rows of a part, proven by it alone. Throws DamageError and UnreachableError. */
  async rowsOf(part: Part): Promise<string> {
    return String(await inflatedPart(await this.#source.piece(part.coded), part, this.#where));
  }

  get #where(): string {
    return `${this.#file.entry.path} of ${this.#file.stamp.text}`;
  }

  /** The text of the whole file while `overdue` sessions are missing. */
  async text(overdue: number): Promise<string> {
    const { body } = (await this.forms(overdue)).identity;
    const opened = typeof body === "function" ? await body() : body;
    if (Buffer.isBuffer(opened)) return String(opened);
    const pieces = await Array.fromAsync<Uint8Array>(opened);
    return String(Buffer.concat(pieces));
  }

  /** Forms of lines of the file; `name` tells them from other lines. `gzip` null: not coded. */
  selection(overdue: number, name: string, plain: Buffer, gzip: Buffer | null): Forms {
    const { "accept-ranges": _, ...content } = this.#content();
    const size = { bytes: plain.length, sha256: sha256Hex(plain) };
    return this.#formsOf(overdue, name, { plain, gzip, ...size }, content);
  }

  #content(): HeaderFields {
    const { entry, nameEnd, tier, position } = this.#file;
    if (nameEnd === null) return { "content-type": entry.media_type };
    const name = `chipboard-${sessionKey(position.session)}-${tier}${nameEnd}`;
    return {
      "content-type": entry.media_type,
      "content-disposition": `attachment; filename="${name}"`,
      // A part of what is stored coded only would be inflated from the beginning.
      "accept-ranges": entry.stored === "gzip" ? "none" : "bytes",
    };
  }
}

/** The source of a payload with `delayed_sessions` raised by `overdue`. */
async function raisedSource(
  { plain, gzip }: Source,
  entry: FileEntry,
  overdue: number,
): Promise<Sized> {
  const isHeld = Buffer.isBuffer(plain);
  if (!isHeld && !Buffer.isBuffer(gzip)) {
    // What is not in memory is large, and comes as a stream.
    const open: OpenStream = async () =>
      ((await plain()) as ReadableStream<Uint8Array>).pipeThrough(raised(overdue));
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const piece of await open()) {
      hash.update(piece);
      bytes += piece.length;
    }
    return { plain: open, gzip: null, bytes, sha256: hash.digest("hex") };
  }
  const stored = isHeld ? plain : await inflated(gzip as Buffer, entry.bytes, entry.path);
  const payload = raiseDelay(stored, overdue);
  const size = { bytes: payload.length, sha256: sha256Hex(payload) };
  const code = gzip && (await coded(payload));
  if (isHeld || code === null) return { plain: payload, gzip: code, ...size };
  return { plain: inflating(code, size, entry.path, () => {}), gzip: code, ...size };
}
