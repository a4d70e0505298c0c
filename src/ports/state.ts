/** The interface of the state's drivers. SQLite and Redis keep the same promises. */
import type { Storage } from "unstorage";
import { UnreachableError } from "../lib/errors.ts";

/**
 * What a state is opened for. "use": it must exist; "serve": a proxy uses it, so it must exist; "create":
 * it is created if there is none; "fill": a copy writes a whole state.
 */
export type StatePurpose = "use" | "create" | "fill" | "serve";

export interface StoredCount extends CountName {
  readonly used: number;
}

/** A count to write, and how long to keep it from now on. */
export interface KeptCount extends StoredCount {
  readonly keptMs: number;
}

export interface StateContent {
  /** The registry's items (see accounts.ts) as stored, by name. */
  readonly items: readonly Item<string>[];
  /** By month, then subject. */
  readonly counts: readonly StoredCount[];
}

export type Item<J extends string | null> = readonly [name: string, json: J];

/**
 * What calls are counted for: an account by its id (all its keys together), the keyed hash of a client
 * address, an account on one day of the month (`day:27:ID`), or a key by its KEYID. The first two have a limit;
 * the calls of a day and of a key also count as calls of the account. `key:KEYID:day` counts none: it is the latest
 * day of the month on which the key was used.
 */
export type Subject = `account:${string}` | `address:${string}` | `day:${string}` | `key:${string}`;

export interface CountName {
  readonly subject: Subject;
  /** `2026-11`. */
  readonly month: string;
}

/** The request for one count in a batch. */
export interface CountRequest extends CountName {
  /** The largest number this process knows. If the state holds less, it has lost something. */
  readonly known: number;
  /**
   * Calls that were granted while the state did not answer, less those given back. They are added even
   * above the limit. A negative number lowers the count, to 0 at most.
   */
  readonly added: number;
  /** Calls that callers wait for, and the limit for them (null: no limit). */
  readonly wanted: number;
  readonly limit: number | null;
  /** Whether the request before it wants the same calls: the calls which that one grants are counted here. */
  readonly follows: boolean;
  /** How long to keep the count from now on. */
  readonly keptMs: number;
}

/** The reply to a CountRequest: how many of the wanted calls are granted, and the count after them. */
export interface CountReply {
  readonly granted: number;
  readonly used: number;
}

export interface Look {
  /** Whether accounts or keys may have changed since the last look. */
  readonly isChanged: boolean;
  /** Why the state takes no writes, although it answers reads; null: it takes them, as far as it is known. */
  readonly refusal: string | null;
}

/**
 * An open state. If the state does not answer, methods reject with the database's own error;
 * `explain` makes a message of it.
 */
export interface StateDriver {
  /** The registry's items. Anybody may read them; only `write` changes them. */
  readonly storage: Storage;

  /** The place of the state if it was created when it was opened, for messages; null otherwise. */
  readonly created: string | null;

  /** The version of the items, another one after each `write`. */
  version(): Promise<string>;

  /**
   * Writes items (null removes one) and counts in one atomic step. False: the items have another version
   * by now, and nothing is written.
   */
  write(
    version: string,
    items: readonly Item<string | null>[],
    counts?: readonly KeptCount[],
  ): Promise<boolean>;

  /** The counts of `names`, in the same order; 0 if there is no count. */
  used(names: readonly CountName[]): Promise<number[]>;

  /**
   * Counts a batch in one atomic step, and replies in the same order. Every count it returns is in the
   * state, even if this process is killed. The numbers of a process's batches rise; a batch that is
   * sent again because its reply was lost is counted once.
   */
  count(number: number, batch: readonly CountRequest[]): Promise<CountReply[]>;

  /** Looks at the state. Changes nothing in it while it is whole. Rejects if the state is unusable. */
  look(): Promise<Look>;

  /**
   * Why the state refused a write for now (full memory or disk, too few replicas, read-only), in one line; null: for
   * another reason, with which reads also fail or come from a wrong server.
   */
  refusal(error: unknown): string | null;

  /** The policy by which the database drops keys when its memory is full; null: it drops none, or does not say. */
  evictionPolicy(): Promise<string | null>;

  /** Deletes some of the counts that are too old. Returns whether there may be more. */
  forget(nowMs: number): Promise<boolean>;

  /** Reads everything. Accounts and keys, and in SQLite also counts, are read at one instant. */
  readAll(): Promise<StateContent>;

  /** Turns the database's error into an UnreachableError of one line. Returns other errors as they are. */
  explain(error: unknown): unknown;

  /** Waits for running changes, then closes the state. */
  close(): Promise<void>;
}

/** There is no state, and only commands that are meant to create one do so. */
export class NoStateError extends UnreachableError {
  constructor(place: string) {
    super(
      `There is no state at ${place}: name the one with your accounts (--state or CHIPBOARD_STATE), ` +
        `or create an empty one with "state init" or "accounts add"`,
    );
  }
}
