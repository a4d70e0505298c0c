/**
 * A file of a snapshot, ready to send. While sessions are overdue, payloads carry a raised
 * `delayed_sessions`: the file is patched, digested and coded once when that number changes, never per
 * request.
 */
import { createHash } from "node:crypto";
import type { Place } from "../../lib/turns.ts";
import { sessionKey, sessionUtc, type Session } from "../../market/session.ts";
import type { TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../render/envelope.ts";
import {
  coded,
  inflatedHeader,
  inflatedSlice,
  slicesOf,
  type FileSlice,
} from "../../snapshot/coded.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import type { FileEntry } from "../../snapshot/manifest.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import type { ObjectPart } from "../../ports/store.ts";
import {
  entityOf,
  tagOf,
  validatorsOf,
  type Coding,
  type Entity,
  type Forms,
  type HeaderFields,
  type Validators,
} from "./entity.ts";
import { modifiedMsOf, type SnapshotStamp } from "./freshness.ts";
import { inflatedOnce, raised, type OpenBody, type OpenStream } from "./stream.ts";

/** The session of a tier's payloads, and its delay when nothing is overdue. */
export interface TierPosition {
  readonly session: Session;
  /** Sessions of 12 hours behind the head. */
  readonly delayedSessions: number;
}

/** What all answers of a snapshot say while `overdue` sessions are missing. */
export const ofSnapshot = (
  stamp: SnapshotStamp,
  { session, delayedSessions }: TierPosition,
  overdue: number,
  etag: string,
): Parameters<typeof validatorsOf>[0] => ({
  etag,
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
  /** The first date that its histories may have; null: it has none. */
  readonly historyFrom: string | null;
  /** The end of a download's file name, `-history.csv`; null: no download. */
  readonly nameEnd: string | null;
}

/** The bytes of a file: in memory, or by functions that verify them and stream or inflate them. */
export interface FileSource {
  readonly plain: Buffer | OpenBody;
  /** Null: the file has no coded form. */
  readonly gzip: Buffer | OpenBody | null;
  /** Reads a part of the coded form, which is not proven yet. */
  readonly piece: (part: ObjectPart, place: Place) => Promise<Buffer>;
}

/** Lines of a file: a name that tells them from others, empty for the whole file, and fields of their own. */
export interface Chosen {
  readonly name: string;
  readonly fields: HeaderFields;
}

const WHOLE: Chosen = { name: "", fields: {} };

/** A body plain and coded, with the digest of its plain bytes. `bytes` is the size of a body that is opened. */
interface Sized extends Pick<FileEntry, "bytes" | "sha256"> {
  readonly plain: Entity["body"];
  readonly gzip: Buffer | OpenBody | null;
}

/** One file of one snapshot, plain and coded. */
export class PreparedFile {
  readonly #file: FileDescription;
  readonly #source: FileSource;
  #parts: readonly FileSlice[] | null = null;
  #latest: { readonly overdue: number; readonly forms: Forms } | null = null;
  #making: { readonly overdue: number; readonly forms: Promise<Forms> } | null = null;

  constructor(file: FileDescription, source: FileSource) {
    this.#file = file;
    this.#source = source;
  }

  /** What to send while `overdue` sessions are missing; null: it has to be made first. */
  ready(overdue: number): Forms | null {
    if (this.#latest?.overdue === overdue) return this.#latest.forms;
    if (this.#isRaised(overdue)) return null;
    const { bytes, sha256 } = this.#file.entry;
    const forms = this.#formsOf(
      overdue,
      WHOLE,
      { ...this.#source, bytes, sha256 },
      this.#content(),
    );
    this.#latest = { overdue, forms };
    return forms;
  }

  /**
   * Makes what `ready` then has. A streamed payload whose delay has changed is read once for its digest,
   * and is sent plain.
   */
  async make(overdue: number, place: Place): Promise<Forms> {
    const ready = this.ready(overdue);
    if (ready !== null) return ready;
    return place.run(() => {
      if (this.#making?.overdue !== overdue) {
        const forms = this.#raise(overdue, place);
        this.#making = { overdue, forms };
      }
      return this.#making.forms;
    });
  }

  async #raise(overdue: number, place: Place): Promise<Forms> {
    try {
      const sized = await raisedSource(this.#source, this.#file.entry, overdue, place);
      const forms = this.#formsOf(overdue, WHOLE, sized, this.#content());
      this.#latest = { overdue, forms };
      return forms;
    } finally {
      this.#making = null;
    }
  }

  /** The properties of the forms before they are made. */
  tags(overdue: number, chosen = WHOLE): Forms<Validators> {
    const tagged = (coding: Coding): Validators =>
      validatorsOf(this.#taggedAs(coding, overdue, chosen));
    const isCoded = chosen !== WHOLE || this.#file.entry.gzip !== undefined;
    return { identity: tagged("identity"), ...(isCoded && { gzip: tagged("gzip") }) };
  }

  #taggedAs(
    coding: Coding,
    overdue: number,
    { name, fields }: Chosen,
  ): ReturnType<typeof ofSnapshot> {
    const { stamp, position, entry, historyFrom } = this.#file;
    const raisedBy = this.#isRaised(overdue) ? String(overdue) : "";
    const etag = tagOf(stamp.manifestSha256, entry.path, name, raisedBy, coding);
    const tagged = ofSnapshot(stamp, position, overdue, etag);
    const ofHistory = historyFrom === null ? {} : { "x-history-from": historyFrom };
    return { ...tagged, shared: { ...tagged.shared, ...ofHistory, ...fields } };
  }

  #formsOf(
    overdue: number,
    chosen: Chosen,
    { plain, gzip, bytes, sha256 }: Sized,
    content: HeaderFields,
  ): Forms {
    const formOf = (coding: Coding, body: Entity["body"], sizeBytes: number): Entity =>
      entityOf({
        ...this.#taggedAs(coding, overdue, chosen),
        body,
        sha256,
        sizeBytes,
        coding,
        content,
      });
    return {
      identity: formOf("identity", plain, bytes),
      ...(gzip !== null && { gzip: formOf("gzip", gzip, this.#file.entry.gzip?.bytes ?? 0) }),
    };
  }

  /** Payloads have the delay in their bytes. */
  #isRaised(overdue: number): boolean {
    return overdue > 0 && this.#file.entry.media_type === JSON_TYPE;
  }

  /** Relative to the snapshot's folder. */
  get path(): string {
    return this.#file.entry.path;
  }

  /** Of its plain bytes. */
  get sizeBytes(): number {
    return this.#file.entry.bytes;
  }

  /** The parts of a long file; none: it is read as a whole. */
  get parts(): readonly FileSlice[] {
    this.#parts ??= slicesOf(this.#file.entry);
    return this.#parts;
  }

  /** The header of a file with parts. Throws DamageError if it has no text of one. */
  async header(place: Place): Promise<string> {
    const [first] = this.parts as [FileSlice];
    const piece = await this.#source.piece({ at: 0, end: first.coded.at }, place);
    return String(await inflatedHeader(piece, first.at, this.#where));
  }

  /** The rows of a part, proven by it alone. Throws DamageError and UnreachableError. */
  async rowsOf(part: FileSlice, place: Place): Promise<string> {
    await place.turn();
    const piece = await this.#source.piece(part.coded, place);
    return String(await inflatedSlice(piece, part, this.#where));
  }

  get #where(): string {
    return `${this.#file.entry.path} of ${this.#file.stamp.text}`;
  }

  /** The text of the whole file while `overdue` sessions are missing. */
  async text(overdue: number, place: Place): Promise<string> {
    const { body } = (await this.make(overdue, place)).identity;
    const opened = typeof body === "function" ? await body(place) : body;
    if (Buffer.isBuffer(opened)) return String(opened);
    const pieces = await Array.fromAsync<Uint8Array>(opened);
    return String(Buffer.concat(pieces));
  }

  /** Forms of lines of the file, in pieces. `gzip` null: not coded. */
  selection(
    overdue: number,
    chosen: Chosen,
    pieces: readonly Buffer[],
    gzip: Buffer | null,
  ): Forms {
    const { "accept-ranges": _, ...content } = this.#content("-selection");
    const hash = createHash("sha256");
    for (const piece of pieces) hash.update(piece);
    const [first, ...others] = pieces;
    const plain = first !== undefined && others.length === 0 ? first : pieces;
    const sha256 = hash.digest("hex");
    return this.#formsOf(overdue, chosen, { plain, gzip, bytes: 0, sha256 }, content);
  }

  /**
   * The fields that describe the file, or a selection from it: `what` stands before the extension of its
   * name.
   */
  #content(what = ""): HeaderFields {
    const { entry, nameEnd, tier, position } = this.#file;
    if (nameEnd === null) return { "content-type": entry.media_type };
    const end = nameEnd.replace(".", `${what}.`);
    const name = `chipboard-${sessionKey(position.session)}-${tier}${end}`;
    return {
      "content-type": entry.media_type,
      "content-disposition": `attachment; filename="${name}"`,
      // A part of a file that is only stored coded would be inflated from the beginning.
      "accept-ranges": entry.stored === "gzip" ? "none" : "bytes",
    };
  }
}

/** The source of a payload with `delayed_sessions` raised by `overdue`. */
async function raisedSource(
  { plain, gzip }: FileSource,
  entry: FileEntry,
  overdue: number,
  place: Place,
): Promise<Sized> {
  const stored = Buffer.isBuffer(plain) ? plain : await plain(place);
  if (!Buffer.isBuffer(stored)) {
    // A file that is not in memory is large, and comes as a stream.
    const open: OpenStream = async (ofReader) =>
      (await (plain as OpenStream)(ofReader)).pipeThrough(raised(overdue));
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const piece of stored.pipeThrough(raised(overdue))) {
      hash.update(piece);
      bytes += piece.length;
    }
    return { plain: open, gzip: null, bytes, sha256: hash.digest("hex") };
  }
  const payload = raiseDelay(stored, overdue);
  const size = { bytes: payload.length, sha256: sha256Hex(payload) };
  const code = gzip && (await coded(payload));
  if (Buffer.isBuffer(plain) || code === null) return { plain: payload, gzip: code, ...size };
  return { plain: inflatedOnce(code, payload.length, entry.path), gzip: code, ...size };
}
