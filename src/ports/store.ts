/**
 * The store of snapshots: a flat map from keys to immutable bytes. A folder and S3 (and in tests, memory)
 * keep the same promises, which one contract suite checks.
 *
 * Nothing is ever overwritten. object-keys.ts says what a key looks like, paths.ts makes all keys.
 */
import type { ServerTime } from "../lib/clock.ts";
import { DamageError } from "../lib/errors.ts";

export interface StoredObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/** An object to read. Its stream holds a file or a connection: read it to the end, or cancel it. */
export interface OpenObject {
  readonly sizeBytes: number;
  /** Fails with UnreachableError if the object cannot be read. */
  readonly stream: ReadableStream<Uint8Array>;
}

/** Places in an object, from 0; `end` is not a part of it. */
export interface ObjectPart {
  readonly at: number;
  readonly end: number;
}

/** No object is read whole if it is larger: Node ends the process at 2 GiB, and text at 512 MiB. */
export const WHOLE_BYTES_MAX = 500_000_000;

/** The error for an object with more bytes than its reader expects. */
export const tooLarge = (where: string, sizeBytes: number, bytesMax: number): DamageError =>
  new DamageError(`${where} has ${sizeBytes} bytes, expected ${bytesMax} or less`);

/**
 * The promises of every driver. A method throws UnreachableError if the store cannot be reached, read
 * or written. `create` throws TypeError for a key that object-keys.ts does not allow.
 */
export interface ObjectStore {
  /** For messages: `./snapshots`, `s3://bucket/prefix`. */
  readonly location: string;

  /**
   * The bytes; null if there is no such key. Never a part of an object. Throws DamageError for an
   * object with more than `bytesMax` bytes (by default WHOLE_BYTES_MAX), and reads nothing of it. Of a
   * `part` it reads as many bytes as there are, and `bytesMax` is the part's.
   */
  get(key: string, bytesMax?: number, part?: ObjectPart): Promise<Buffer | null>;

  /** The same as a stream, for objects that are too large for the memory. */
  open(key: string): Promise<OpenObject | null>;

  /**
   * Creates the key if it is absent. Of callers that race, exactly one gets "created". On return the
   * object is durable, and every reader sees all its bytes. "taken": the key exists, and its object is
   * unchanged. (After a retried request, "taken" can mean the caller's own earlier attempt.)
   */
  create(key: string, bytes: Uint8Array): Promise<"created" | "taken">;

  /** Every object whose key starts with `prefix`, in ascending order of the key. */
  list(prefix: string): AsyncIterable<StoredObject>;

  /** Removes the key. It is no error if the key is absent. */
  delete(key: string): Promise<void>;

  /**
   * Proves that `create` keeps its promise here, and that the caller may write. Call it once before a
   * publish. It leaves nothing behind.
   */
  prove(): Promise<void>;

  /**
   * Checks as much of `prove` as possible without writing anything. A dry run calls it, to fail as the
   * real run would.
   */
  mayWrite(): Promise<void>;

  /** What the server's last answer said of the time; null: nothing. A store without a server lacks it. */
  serverTime?(): ServerTime | null;

  /** Closes the connections. Call nothing after it. */
  close(): Promise<void>;
}
