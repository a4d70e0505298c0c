/**
 * A store in a bucket of R2, by the binding of a Worker, with the same keys as by S3. R2 creates a key only if it is
 * absent where the put says `If-None-Match: *`; lists and reads see each write that was answered.
 */
import { byteStream } from "../../store/byte-stream.ts";
import { ChipboardError, reasonOf, UnreachableError } from "../../lib/errors.ts";
import { CACHE_CONTROL, mediaTypeOf } from "../../store/media-types.ts";
import { isKey, requireKey } from "../../store/object-keys.ts";
import {
  tooLarge,
  WHOLE_BYTES_MAX,
  type ObjectPart,
  type ObjectStore,
  type OpenObject,
  type StoredObject,
} from "../../ports/store.ts";
import type { Bucket } from "./bindings.ts";

export class R2Store implements ObjectStore {
  readonly location: string;
  readonly #bucket: Bucket;
  /** "" or ending in "/". */
  readonly #prefix: string;

  /** `prefix`: the folder in the bucket; empty: none. */
  constructor(bucket: Bucket, prefix: string) {
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.location = `r2:${prefix}`;
  }

  async get(key: string, bytesMax = WHOLE_BYTES_MAX, part?: ObjectPart): Promise<Buffer | null> {
    if (!isKey(key)) return null;
    return this.#asked("read", key, async (name) => {
      const where = `${this.location}/${key}`;
      if (part !== undefined) return this.#partOf(name, part);
      const found = await this.#bucket.get(name);
      if (found === null) return null;
      if (found.size <= bytesMax) return Buffer.from(await found.arrayBuffer());
      await found.body.cancel();
      throw tooLarge(where, found.size, bytesMax);
    });
  }

  /** R2 refuses a range that begins behind the end. */
  async #partOf(name: string, { at, end }: ObjectPart): Promise<Buffer | null> {
    try {
      const found = await this.#bucket.get(name, { range: { offset: at, length: end - at } });
      return found && Buffer.from(await found.arrayBuffer());
    } catch (error) {
      const head = await this.#bucket.head(name);
      if (head === null) return null;
      if (head.size <= at) return Buffer.alloc(0);
      throw error;
    }
  }

  async open(key: string): Promise<OpenObject | null> {
    if (!isKey(key)) return null;
    const found = await this.#asked("read", key, (name) => this.#bucket.get(name));
    if (found === null) return null;
    const reader = found.body.getReader();
    const stream = byteStream({
      read: async () => (await this.#asked("read", key, () => reader.read())).value ?? null,
      close: () => reader.cancel().catch(() => {}),
    });
    return { sizeBytes: found.size, stream };
  }

  async create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    requireKey(key);
    return this.#put(key, bytes);
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    let cursor: string | undefined;
    do {
      const page = await this.#asked("list", prefix, (name) =>
        this.#bucket.list({ prefix: name, ...(cursor !== undefined && { cursor }) }),
      );
      for (const { key, size } of page.objects) {
        const own = key.slice(this.#prefix.length);
        if (isKey(own)) yield { key: own, sizeBytes: size };
      }
      cursor = page.truncated ? page.cursor : undefined;
    } while (cursor !== undefined);
  }

  async delete(key: string): Promise<void> {
    if (isKey(key)) await this.#asked("remove", key, (name) => this.#bucket.delete(name));
  }

  mayWrite(): Promise<void> {
    return this.prove();
  }

  /** Lets four writers race for one key. */
  async prove(): Promise<void> {
    const probe = `.probe-${crypto.randomUUID()}`;
    const bytes = Buffer.from("probe\n");
    try {
      const racers = Array.from({ length: 4 }, () => this.#put(probe, bytes));
      const created = (await Promise.all(racers)).filter((outcome) => outcome === "created");
      if (created.length !== 1)
        throw new UnreachableError(
          `${this.location}: ${created.length} of four writers created the same key, expected one`,
        );
    } finally {
      await this.#bucket.delete(this.#prefix + probe).catch(() => {});
    }
  }

  async close(): Promise<void> {}

  #put(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    return this.#asked("write", key, async (name) => {
      const made = await this.#bucket.put(name, bytes, {
        onlyIf: { etagDoesNotMatch: "*" },
        httpMetadata: { contentType: mediaTypeOf(key), cacheControl: CACHE_CONTROL },
      });
      return made === null ? "taken" : "created";
    });
  }

  async #asked<T>(verb: string, key: string, ask: (name: string) => Promise<T>): Promise<T> {
    try {
      return await ask(this.#prefix + key);
    } catch (error) {
      if (error instanceof ChipboardError) throw error;
      throw new UnreachableError(`Cannot ${verb} ${this.location}/${key}: ${reasonOf(error)}`, [], {
        cause: error,
      });
    }
  }
}
