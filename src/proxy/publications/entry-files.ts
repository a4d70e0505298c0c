/**
 * The entries of the log and their signatures, byte for byte as they are stored, so that everybody can
 * prove the log. What they hold is not checked here: whoever asks for them does that.
 */
import { LRUCache } from "lru-cache";
import { DamageError } from "../../lib/errors.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import { ENTRY_BYTES_MAX } from "../../snapshot/publication-log.ts";
import { JSON_TYPE, SIGNATURE_TYPE } from "../../store/media-types.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { publicationKey, signatureKey } from "../../store/paths.ts";
import type { Found } from "../answer.ts";
import { deny, type Denial } from "../problems.ts";
import { entityOf } from "../snapshot/entity.ts";

/** An entry or its signature, as an address names it. */
export interface EntryFileName {
  readonly number: number;
  readonly isSignature: boolean;
}

const CACHE_BYTES = 4_000_000;
const READS_AT_ONCE = 8;
const BUSY_RETRY_MS = 1_000;
/** What is stored never changes (RFC 8246), and a cache holds it no longer than other public answers. */
const CACHE_CONTROL = "public, max-age=60, immutable";

/** Reads `42` or `42.sig`; null: neither. */
export function readEntryFileName(text: string): EntryFileName | null {
  const [, number, signature] = /^([1-9]\d{0,9})(\.sig)?$/.exec(text) ?? [];
  return number === undefined
    ? null
    : { number: Number(number), isSignature: signature !== undefined };
}

/** The files of one store's log. */
export class EntryFiles {
  readonly #store: ObjectStore;
  readonly #kept = new LRUCache<string, Found>({ maxSize: CACHE_BYTES });
  readonly #reads = new Map<string, Promise<Found | Denial>>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /**
   * The file; `not_published` if there is none, `busy` while too many others are read. Rejects with
   * DamageError if it is larger than any entry, or has another SHA-256 (hex) than `sha256`, if that is
   * known; with UnreachableError if the store does not answer.
   */
  async get(name: EntryFileName, sha256: string | null): Promise<Found | Denial> {
    const key = name.isSignature ? signatureKey(name.number) : publicationKey(name.number);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const running = this.#reads.get(key);
    if (running !== undefined) return running;
    if (this.#reads.size >= READS_AT_ONCE) {
      const detail = "Too many entries of the log are read at the moment.";
      return deny("busy", detail, { retryAfterMs: BUSY_RETRY_MS });
    }
    const reading = this.#read(key, name, sha256).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  async #read(
    key: string,
    { number, isSignature }: EntryFileName,
    sha256: string | null,
  ): Promise<Found | Denial> {
    const bytes = await this.#store.get(key, ENTRY_BYTES_MAX);
    if (bytes === null) {
      const what = isSignature
        ? `Entry ${number} has no signature.`
        : `There is no entry ${number}.`;
      return deny("not_published", what);
    }
    if (!isSignature && sha256 !== null && sha256Hex(bytes) !== sha256) {
      throw new DamageError(
        `${this.#store.location}/${key} is not the entry that was proven before`,
      );
    }
    const file = found(bytes, isSignature ? SIGNATURE_TYPE : JSON_TYPE);
    this.#kept.set(key, file, { size: bytes.length + FIELDS_COST });
    return file;
  }
}

/** What the prepared header fields take. */
const FIELDS_COST = 1_000;

function found(body: Buffer, mediaType: string): Found {
  const sha256 = sha256Hex(body);
  const content = { "content-type": mediaType };
  // Without a date: nobody knows when an entry arrived here.
  const entity = entityOf({ etag: `"${sha256}"`, modifiedMs: null, content, body, sha256 });
  return { forms: new Map([["identity", entity]]), cacheControl: CACHE_CONTROL };
}
