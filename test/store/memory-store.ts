import { byteStream } from "../../src/store/byte-stream.ts";
import { requireKey } from "../../src/store/object-keys.ts";
import {
  tooLarge,
  type ObjectPart,
  type ObjectStore,
  type OpenObject,
  type StoredObject,
} from "../../src/ports/store.ts";

/**
 * A store in the memory of this process, for tests. It keeps every promise of ObjectStore, but its
 * objects end with the process.
 */
export class MemoryStore implements ObjectStore {
  readonly location: string;
  readonly #objects = new Map<string, Buffer>();

  constructor(location = "memory:") {
    this.location = location;
  }

  async get(key: string, bytesMax = Infinity, part?: ObjectPart): Promise<Buffer | null> {
    const bytes = this.#objects.get(key)?.subarray(part?.at, part?.end);
    const sizeBytes = bytes?.length ?? 0;
    if (sizeBytes > bytesMax) throw tooLarge(`${this.location}/${key}`, sizeBytes, bytesMax);
    return bytes === undefined ? null : Buffer.from(bytes);
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

  async create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    requireKey(key);
    if (this.#objects.has(key)) return "taken";
    this.#objects.set(key, Buffer.from(bytes));
    return "created";
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const keys = [...this.#objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    for (const key of keys) {
      const bytes = this.#objects.get(key);
      if (bytes !== undefined) yield { key, sizeBytes: bytes.length };
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
