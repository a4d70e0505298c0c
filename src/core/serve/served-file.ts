/**
 * A file of a snapshot, ready to send. While sessions are overdue, payloads carry a raised
 * `delayed_sessions`: the file is patched, digested and coded once when that number changes, never per
 * request.
 */
import { joined, textOf } from "../../lib/bytes.ts";
import type { Place } from "../../lib/turns.ts";
import { sessionKey, sessionUtc, type Session } from "../../market/session.ts";
import { historyFrom, tierSession, type Tier, type TierName } from "../../market/tier.ts";
import { raiseDelay } from "../../render/envelope.ts";
import type { Platform } from "../../ports/platform.ts";
import type { FileEntry } from "../../snapshot/manifest.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import { isHistory } from "../../store/paths.ts";
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
import { raisingStream, type OpenBody, type OpenStream } from "./stream.ts";

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
  readonly plain: Uint8Array | OpenBody;
  /** Null: the file has no coded form. */
  readonly gzip: Uint8Array | OpenBody | null;
  /** The parts of a long file; none: it is read as a whole. */
  readonly parts: readonly FilePart[];
  /** Opens another coded form of the file, of so many plain bytes, that is known to be right. */
  inflated(code: Uint8Array, sizeBytes: number): OpenBody;
  /** The header of a file with parts. Throws DamageError if it has no text of one. */
  header(place: Place): Promise<string>;
  /** The rows of a part, proven by it alone. Throws DamageError and UnreachableError. */
  rowsOf(part: FilePart, place: Place): Promise<string>;
}

/** A contract's rows in a long file, and how many plain bytes they are. */
interface FilePart {
  readonly id: string;
  readonly bytes: number;
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
  readonly gzip: Uint8Array | OpenBody | null;
}

/** What the tags of a file need of it. */
interface TaggedFile extends Pick<FileDescription, "stamp" | "position" | "historyFrom"> {
  readonly path: string;
}

function taggedAs(
  platform: Platform,
  { stamp, position, historyFrom: from, path }: TaggedFile,
  coding: Coding,
  overdue: number,
  raisedBy: string,
  { name, fields }: Chosen,
): ReturnType<typeof ofSnapshot> {
  const etag = tagOf(platform, stamp.manifestSha256, path, name, raisedBy, coding);
  const tagged = ofSnapshot(stamp, position, overdue, etag);
  const ofHistory = from === null ? {} : { "x-history-from": from };
  return { ...tagged, shared: { ...tagged.shared, ...ofHistory, ...fields } };
}

/** Where a tier's payloads stand in a snapshot. */
export const positionOf = (tier: Tier, { head }: SnapshotStamp): TierPosition => ({
  session: tierSession(tier, head),
  delayedSessions: tier.delaySessions,
});

/**
 * The tags that the file at `path`, or the lines of it that `name` tells, has in a snapshot that is never overdue, if it
 * is there: known without its manifest.
 */
export function tagsUnread(
  platform: Platform,
  stamp: SnapshotStamp,
  tier: Tier,
  path: string,
  name: string,
): Forms<Validators> {
  const position = positionOf(tier, stamp);
  const from = isHistory(path) ? historyFrom(tier, position.session) : null;
  const file = { stamp, position, historyFrom: from, path };
  const tagged = (coding: Coding): Validators =>
    validatorsOf(taggedAs(platform, file, coding, 0, "", { name, fields: {} }));
  return { identity: tagged("identity"), gzip: tagged("gzip") };
}

/** One file of one snapshot, plain and coded. */
export class PreparedFile {
  readonly #file: FileDescription;
  readonly #source: FileSource;
  readonly #platform: Platform;
  #latest: { readonly overdue: number; readonly forms: Forms } | null = null;

  constructor(file: FileDescription, source: FileSource, platform: Platform) {
    this.#file = file;
    this.#source = source;
    this.#platform = platform;
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
    return place.run(async () => {
      // Another request may have made it in the meantime.
      const made = this.ready(overdue);
      if (made !== null) return made;
      const sized = await raiseSource(this.#source, overdue, place, this.#platform);
      const forms = this.#formsOf(overdue, WHOLE, sized, this.#content());
      this.#latest = { overdue, forms };
      return forms;
    });
  }

  /** The properties of the forms before they are made. */
  tags(overdue: number, chosen = WHOLE): Forms<Validators> {
    const tagged = (coding: Coding): Validators =>
      validatorsOf(this.#taggedAs(coding, overdue, chosen));
    const isCoded = chosen !== WHOLE || this.#file.entry.gzip !== undefined;
    return { identity: tagged("identity"), ...(isCoded && { gzip: tagged("gzip") }) };
  }

  #taggedAs(coding: Coding, overdue: number, chosen: Chosen): ReturnType<typeof ofSnapshot> {
    const raisedBy = this.#isRaised(overdue) ? String(overdue) : "";
    const { path } = this.#file.entry;
    return taggedAs(this.#platform, { ...this.#file, path }, coding, overdue, raisedBy, chosen);
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

  /** See FileSource. */
  get parts(): readonly FilePart[] {
    return this.#source.parts;
  }

  header(place: Place): Promise<string> {
    return this.#source.header(place);
  }

  async rowsOf(part: FilePart, place: Place): Promise<string> {
    await place.turn();
    return this.#source.rowsOf(part, place);
  }

  /** The text of the whole file while `overdue` sessions are missing. */
  async text(overdue: number, place: Place): Promise<string> {
    const { body } = (await this.make(overdue, place)).identity;
    const opened = typeof body === "function" ? await body(place) : body;
    if (opened instanceof Uint8Array) return textOf(opened);
    const pieces = await Array.fromAsync<Uint8Array>(opened);
    return textOf(joined(pieces));
  }

  /** Forms of lines of the file, in pieces. `gzip` null: not coded. */
  selection(
    overdue: number,
    chosen: Chosen,
    pieces: readonly Uint8Array[],
    gzip: Uint8Array | null,
  ): Forms {
    const { "accept-ranges": _, ...content } = this.#content("-selection");
    const hasher = this.#platform.hasher();
    for (const piece of pieces) hasher.update(piece);
    const [first, ...others] = pieces;
    const plain = first !== undefined && others.length === 0 ? first : pieces;
    const sha256 = hasher.hex();
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
async function raiseSource(
  { plain, gzip, inflated }: FileSource,
  overdue: number,
  place: Place,
  platform: Platform,
): Promise<Sized> {
  const stored = plain instanceof Uint8Array ? plain : await plain(place);
  if (!(stored instanceof Uint8Array)) {
    // A file that is not in memory is large, and comes as a stream.
    const open: OpenStream = async (ofReader) =>
      (await (plain as OpenStream)(ofReader)).pipeThrough(raisingStream(overdue));
    const hasher = platform.hasher();
    let bytes = 0;
    for await (const piece of stored.pipeThrough(raisingStream(overdue))) {
      hasher.update(piece);
      bytes += piece.length;
    }
    return { plain: open, gzip: null, bytes, sha256: hasher.hex() };
  }
  const payload = raiseDelay(stored, overdue);
  const size = { bytes: payload.length, sha256: platform.sha256(payload) };
  const code = gzip && (await platform.gzip(payload, "fast"));
  const isInMemory = plain instanceof Uint8Array || code === null;
  return { plain: isInMemory ? payload : inflated(code, payload.length), gzip: code, ...size };
}
