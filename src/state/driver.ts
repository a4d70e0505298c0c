/**
 * What a driver of the state gives to the parts above it. SQLite and Redis keep the same promises.
 */
import type { Storage } from "unstorage";
import type { Subject } from "./gatekeeper.ts";

/** What a command opens a state for: "change" makes what is missing, "read" sees it as empty. */
export type StatePurpose = "read" | "change";

/** What a change of the registry writes, item by item, and what it hands back. */
export interface Change<T> {
  /** By item (records.ts). */
  readonly writes: ReadonlyMap<string, object>;
  readonly result: T;
}

/** The registry's items, and the counts, as commands see them. */
export interface RegistryState {
  /** For messages: `./state`, `redis://:***@host:6379/0`. */
  readonly location: string;
  /** Reading, also outside of a change. Writing is for `change` alone. */
  readonly storage: Storage;

  /**
   * Runs `plan` and writes what it returns as one change: what the plan read is what it changes,
   * whoever else is changing things, and readers see all of it or nothing. `plan` may run more
   * than once. Throws what `plan` throws (nothing is written then), or UnreachableError.
   */
  change<T>(plan: () => Promise<Change<T>>): Promise<T>;

  /** Calls counted in `month`, in the order of `subjects`; 0 where there are none. */
  counts(subjects: readonly Subject[], month: string): Promise<number[]>;

  /** What the driver threw as an UnreachableError in one line; other errors as they are. */
  explain(error: unknown): unknown;

  /** Waits for the changes under way. */
  close(): Promise<void>;
}
