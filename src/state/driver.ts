/** What a driver of the state does for the parts above it. SQLite and Redis keep the same promises. */
import type { Storage } from "unstorage";
import type { Subject } from "./gatekeeper.ts";

/**
 * What a state is opened for. "read": by a command that sees an empty state where there is none;
 * "change": by a command that creates what is missing; "serve": by a proxy.
 */
export type StatePurpose = "read" | "change" | "serve";

/** What a change of the registry writes, item by item, and what it hands back. */
export interface Change<T> {
  /** By item (accounts.ts). */
  readonly writes: ReadonlyMap<string, object>;
  readonly result: T;
}

/** A count in the state. */
export interface CountName {
  readonly subject: Subject;
  /** `2026-11`. */
  readonly month: string;
}

/** What one count is asked for in a batch. */
export interface CountRequest extends CountName {
  /** What the count is known to have reached: where the state holds less, it lost something. */
  readonly known: number;
  /** Calls that were granted while the state did not answer; added whatever the limit. */
  readonly added: number;
  /** Calls that callers wait for, and the limit they are granted under (null: no limit). */
  readonly wanted: number;
  readonly limit: number | null;
  /** How long the count is to be kept from now on. */
  readonly keptMs: number;
}

/** What became of a CountRequest: calls granted of those wanted, and the count after them. */
export interface CountReply {
  readonly granted: number;
  readonly used: number;
}

/**
 * An open state. Methods reject with what the driver throws where the state does not answer;
 * `explain` makes a message of it.
 */
export interface StateDriver {
  /** The registry's items, to read also outside of a change. Only `change` writes them. */
  readonly storage: Storage;

  /**
   * Runs `plan` and writes what it returns as one change: what the plan read is what it changes,
   * whoever else is changing things, and readers see all of it or nothing. `plan` may run more
   * than once. Throws what `plan` throws (nothing is written then).
   */
  change<T>(plan: () => Promise<Change<T>>): Promise<T>;

  /** Calls counted, in the order of `names`; 0 where there is no count. */
  used(names: readonly CountName[]): Promise<number[]>;

  /**
   * Counts a batch in one atomic step, and replies in its order. What is replied is in the state,
   * whatever happens to this process. Batches of one process have rising numbers; a batch that is
   * sent again, because its reply was lost, is counted once.
   */
  count(number: number, batch: readonly CountRequest[]): Promise<CountReply[]>;

  /** Whether accounts or keys may have changed since the last look. Rejects while the state is unfit. */
  look(): Promise<boolean>;

  /** Forgets some of the counts that are past keeping. Returns whether there may be more. */
  forget(nowMs: number): Promise<boolean>;

  /** The secret under which addresses are hashed: the state's own, or `proposed` where it has none. */
  addressSecret(proposed: string): Promise<string>;

  /** What the driver threw as an UnreachableError in one line; other errors as they are. */
  explain(error: unknown): unknown;

  /** Waits for the changes under way, and lets go of the state. */
  close(): Promise<void>;
}
