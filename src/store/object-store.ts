/**
 * Where snapshots live: a flat map from key to immutable bytes. A folder, S3 and (for tests) memory
 * keep the same promises, checked by one contract suite.
 *
 * Nothing is ever overwritten. Keys are relative, `/`-separated, made of `[A-Za-z0-9._-]` segments
 * none of which is `.` or `..` (see paths.ts, which makes them all).
 */

/** An object without its bytes. */
export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
  /** When it was created, by the clock of the store (epoch milliseconds). */
  readonly modifiedAtMs: number;
}

/** An object that is being read. Its stream holds a file or a connection: consume it, or cancel it. */
export interface OpenObject {
  readonly sizeBytes: number;
  /** Fails with UnreachableError where reading does. */
  readonly stream: ReadableStream<Uint8Array>;
}

/**
 * What every driver promises. Every method throws UnreachableError where the store cannot be
 * reached, read or written, and `create` TypeError for a key that keys.ts does not allow.
 */
export interface ObjectStore {
  /** For messages: `./snapshots`, `s3://bucket/prefix`. */
  readonly location: string;

  /** The bytes, or null where there is no such key. Never part of an object. */
  get(key: string): Promise<Buffer | null>;

  /** The same as a stream, for objects that shall not be held whole. */
  open(key: string): Promise<OpenObject | null>;

  /**
   * Creates the key if it is absent: of any number of racers exactly one gets "created". On return
   * the bytes are durable and visible to every reader, whole. "taken": something is there already,
   * and it is unchanged. (After a retried request "taken" may be the caller's own earlier attempt.)
   */
  create(key: string, bytes: Uint8Array, mediaType: string): Promise<"created" | "taken">;

  /** Every object whose key starts with `prefix`, in ascending order of the key. */
  list(prefix: string): AsyncIterable<StoredObject>;

  /** Removes the key; no error where it is absent. */
  delete(key: string): Promise<void>;

  /**
   * Proves that `create` keeps its promise here and that writing is allowed; call it once before a
   * publish. Leaves nothing behind.
   */
  prove(): Promise<void>;

  /**
   * As much of `prove` as can be known without leaving a trace even for a moment, where that is
   * possible: for a run that shall not write but fail as the real one would.
   */
  mayWrite(): Promise<void>;

  /** Lets go of connections; nothing may be asked afterwards. */
  close(): Promise<void>;
}
