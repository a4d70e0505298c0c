/** A store that lets somebody stand between it and its user: the place where faults are thrown. */
import type { ObjectStore, StoredObject } from "../../src/store/object-store.ts";

export interface Operation {
  readonly kind: "get" | "open" | "list" | "create" | "delete" | "prove" | "mayWrite";
  /** The key, or a list's prefix; "" where the operation has none. */
  readonly key: string;
}

/** Runs the operation, or does something else in its place, before it or after it. */
export type Around = <T>(operation: Operation, run: () => Promise<T>) => Promise<T>;

/** The operations after which a store may hold something else than before. */
export const isWrite = ({ kind }: Operation): boolean =>
  kind === "create" || kind === "delete" || kind === "prove";

/** A list is one operation: all of it is read at once. */
export class AttendedStore implements ObjectStore {
  readonly location: string;
  readonly #inner: ObjectStore;
  readonly #around: Around;

  constructor(inner: ObjectStore, around: Around) {
    this.location = inner.location;
    this.#inner = inner;
    this.#around = around;
  }

  get(key: string): Promise<Buffer | null> {
    return this.#around({ kind: "get", key }, () => this.#inner.get(key));
  }

  open(key: string): ReturnType<ObjectStore["open"]> {
    return this.#around({ kind: "open", key }, () => this.#inner.open(key));
  }

  create(key: string, bytes: Uint8Array, mediaType: string): Promise<"created" | "taken"> {
    return this.#around({ kind: "create", key }, () => this.#inner.create(key, bytes, mediaType));
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    yield* await this.#around({ kind: "list", key: prefix }, async () => {
      const objects: StoredObject[] = [];
      for await (const object of this.#inner.list(prefix)) objects.push(object);
      return objects;
    });
  }

  delete(key: string): Promise<void> {
    return this.#around({ kind: "delete", key }, () => this.#inner.delete(key));
  }

  prove(): Promise<void> {
    return this.#around({ kind: "prove", key: "" }, () => this.#inner.prove());
  }

  mayWrite(): Promise<void> {
    return this.#around({ kind: "mayWrite", key: "" }, () => this.#inner.mayWrite());
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** Numbers the writes from 1 on, in the order they are begun; reads go through. */
export function aroundWrites(
  around: <T>(step: number, operation: Operation, run: () => Promise<T>) => Promise<T>,
): Around {
  let step = 0;
  return (operation, run) => {
    if (!isWrite(operation)) return run();
    step += 1;
    return around(step, operation, run);
  };
}
