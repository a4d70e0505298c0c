/** A store whose operations a test can intercept. Faults are injected here. */
import type { ObjectPart, ObjectStore, StoredObject } from "../../src/ports/store.ts";
import { PUBLICATIONS } from "../../src/store/paths.ts";

export interface Operation {
  readonly kind: "get" | "open" | "list" | "create" | "delete" | "prove" | "mayWrite";
  /** The key, or the prefix of a list; "" if the operation has none. */
  readonly key: string;
  /** What a create writes. */
  readonly bytes?: Uint8Array;
}

/** Called for each operation; calls `run` to carry it out. */
export type Intercept = <T>(operation: Operation, run: () => Promise<T>) => Promise<T>;

/** Whether the operation may change what the store holds. */
export const isWrite = ({ kind }: Operation): boolean =>
  kind === "create" || kind === "delete" || kind === "prove";

/** Whether it writes an entry of the log, or removes one. */
export const isLogWrite = (operation: Operation): boolean =>
  isWrite(operation) && operation.key.startsWith(PUBLICATIONS);

/** A list is one operation: it is read completely at once. */
export class InterceptedStore implements ObjectStore {
  readonly location: string;
  readonly #inner: ObjectStore;
  readonly #intercept: Intercept;

  constructor(inner: ObjectStore, intercept: Intercept) {
    this.location = inner.location;
    this.#inner = inner;
    this.#intercept = intercept;
  }

  get(key: string, bytesMax?: number, part?: ObjectPart): Promise<Buffer | null> {
    return this.#intercept({ kind: "get", key }, () => this.#inner.get(key, bytesMax, part));
  }

  open(key: string): ReturnType<ObjectStore["open"]> {
    return this.#intercept({ kind: "open", key }, () => this.#inner.open(key));
  }

  create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    return this.#intercept({ kind: "create", key, bytes }, () => this.#inner.create(key, bytes));
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    yield* await this.#intercept({ kind: "list", key: prefix }, async () => {
      const objects: StoredObject[] = [];
      for await (const object of this.#inner.list(prefix)) objects.push(object);
      return objects;
    });
  }

  delete(key: string): Promise<void> {
    return this.#intercept({ kind: "delete", key }, () => this.#inner.delete(key));
  }

  prove(): Promise<void> {
    return this.#intercept({ kind: "prove", key: "" }, () => this.#inner.prove());
  }

  mayWrite(): Promise<void> {
    return this.#intercept({ kind: "mayWrite", key: "" }, () => this.#inner.mayWrite());
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

/** Numbers the writes from 1 on, in the order in which they start. Reads are not intercepted. */
export function interceptWrites(
  intercept: <T>(step: number, operation: Operation, run: () => Promise<T>) => Promise<T>,
): Intercept {
  let step = 0;
  return (operation, run) => {
    if (!isWrite(operation)) return run();
    step += 1;
    return intercept(step, operation, run);
  };
}
