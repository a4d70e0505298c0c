import { createClock, type Clock } from "../lib/clock.ts";
import { byteStream } from "./byte-stream.ts";
import { requireKey } from "./keys.ts";
import { tooLarge, type ObjectStore, type OpenObject, type StoredObject } from "./object-store.ts";

/**
 * A store in the memory of this process, for tests. It keeps every promise of ObjectStore, but its
 * objects end with the process. The clock gives `modifiedAtMs`.
 */
export class MemoryStore implements ObjectStore {
  readonly location = "memory:";
  readonly #clock: Clock;
  readonly #objects = new Map<string, { bytes: Buffer; modifiedAtMs: number }>();

  constructor(clock: Clock = createClock(undefined)) {
    this.#clock = clock;
  }

  async get(key: string, bytesMax = Infinity): Promise<Buffer | null> {
    const object = this.#objects.get(key);
    const sizeBytes = object?.bytes.length ?? 0;
    if (sizeBytes > bytesMax) throw tooLarge(`${this.location}/${key}`, sizeBytes, bytesMax);
    return object === undefined ? null : Buffer.from(object.bytes);
  }

  async open(key: string): Promise<OpenObject | null> {
    const bytes = await this.get(key);
    if (bytes === null) return null;
    const pieces = bytes.length === 0 ? [] : [bytes];
    const stream = byteStream({
      read: async () => pieces.shift() ?? null,
      close: async () => {},
    });
    return { sizeBytes: bytes.length, stream };
  }

  async create(key: string, bytes: Uint8Array, _mediaType: string): Promise<"created" | "taken"> {
    requireKey(key);
    if (this.#objects.has(key)) return "taken";
    this.#objects.set(key, { bytes: Buffer.from(bytes), modifiedAtMs: this.#clock.now() });
    return "created";
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    for (const key of keys) {
      const object = this.#objects.get(key);
      if (object === undefined) continue;
      yield { key, sizeBytes: object.bytes.length, modifiedAtMs: object.modifiedAtMs };
    }
  }

  async delete(key: string): Promise<void> {
    this.#objects.delete(key);
  }

  /** Has nothing to prove: a map has one writer at a time. */
  async prove(): Promise<void> {}

  async mayWrite(): Promise<void> {}

  async close(): Promise<void> {}
}
