/**
 * What a state remembers of each store that its proxies served, and whether the store still is the one that it
 * remembers. A store that was emptied, replaced, or restored from an older copy shows nothing of that by itself.
 *
 * A store is known by the id of its mark. One without a mark is known by its first entry, and if that is also
 * gone, by its location.
 */
import { resolve } from "node:path";
import { z } from "zod";
import { sha256Field } from "../stored-fields.ts";
import { readStoreId } from "../store-mark.ts";
import type { ObjectStore } from "../../ports/store.ts";
import { newerSeen, seenEntry, unlikeSeen } from "./seen.ts";
import { entriesIn, listLog, readLogEnd } from "./walk.ts";

/** In place of a location: the store is looked up by its id and its first entry alone. */
export const NOWHERE = "";

/** The newest entry of a store's log that was served. */
export const seenLog = z.object({
  /** The id of its mark; null: it has none. */
  store: z.uuid().nullable(),
  /** SHA-256 (hex) of its first entry. Null: a release before 0.4.0 remembered, and only the newest entry. */
  first: sha256Field.nullable(),
  ...seenEntry.shape,
  /** Where it was served from. A location belongs to the store that was served from it last. */
  locations: z.array(z.string()),
});
export type SeenLog = z.infer<typeof seenLog>;

/** What tells one store from another. */
export interface StoreNames {
  /** The id of its mark; null: it has none. */
  readonly store: string | null;
  /** SHA-256 (hex) of its first entry; null: there is none. */
  readonly first: string | null;
  readonly location: string;
}

/** The memory of a state. Its methods reject if the state does not answer. */
export interface LogMemory {
  /** The logs of all stores that were served. */
  seen(): Promise<readonly SeenLog[]>;

  /** Remembers the log as `remembering` does. Atomic. */
  see(log: SeenLog): Promise<void>;
}

/** The remembered log of the store; null: none. */
export function seenOf(
  logs: readonly SeenLog[],
  { store, first, location }: StoreNames,
): SeenLog | null {
  const found =
    store === null
      ? (logs.find((log) => first !== null && log.first === first) ??
        logs.find(({ locations }) => locations.includes(location)))
      : logs.find((log) => log.store === store);
  return found ?? logs.find((log) => log.first === null) ?? null;
}

/** The logs with this one. Of the same store the newer entry stays, and all locations. */
export function remembering(logs: readonly SeenLog[], log: SeenLog): SeenLog[] {
  const held = seenOf(logs, { ...log, location: NOWHERE });
  const { number, sha256 } = newerSeen(held, log);
  const locations = [...new Set([...(held?.locations ?? []), ...log.locations])];
  const { store, first } = log;
  const now = { store, first, number, sha256, locations };
  const isElsewhere = (location: string): boolean => !log.locations.includes(location);
  const all = held === null ? [...logs, now] : logs.with(logs.indexOf(held), now);
  return all.map((each) =>
    each === now ? now : { ...each, locations: each.locations.filter(isElsewhere) },
  );
}

/**
 * Why the log in the store is not the one that was seen; null: it goes on from there. Throws DamageError if the entry
 * that was seen, or the first one, cannot be read.
 */
export async function lossOf(store: ObjectStore, seen: SeenLog): Promise<string | null> {
  const read = entriesIn(store);
  const same = await read(seen.number);
  const first = seen.number === 1 ? same : await read(1);
  const isOther = seen.first !== null && first !== null && first.sha256 !== seen.first;
  if (same?.sha256 === seen.sha256 && !isOther) return null;
  const { newest } = await listLog(store);
  const why = unlikeSeen(seen, newest, same?.sha256);
  return `${store.location} is lost. ${why}${isOther ? ". Its entry 1 is another one" : ""}`;
}

/** What tells the store from others. Throws DamageError if its mark or its first entry cannot be read. */
export async function namesOf(store: ObjectStore): Promise<StoreNames> {
  const [id, first] = [await readStoreId(store), await entriesIn(store)(1)];
  return { store: id, first: first?.sha256 ?? null, location: placeOf(store) };
}

/** The location as it is remembered: a folder by its whole path. */
export const placeOf = ({ location }: ObjectStore): string =>
  location.includes("://") ? location : resolve(location);

/** The log as it stands, with its one location; null: it is empty. Throws DamageError as `namesOf` does. */
export async function readSeenLog(store: ObjectStore): Promise<SeenLog | null> {
  const { newest } = await readLogEnd(store);
  if (newest === null) return null;
  const { location, ...names } = await namesOf(store);
  const { number } = newest.entry;
  return { ...names, number, sha256: newest.sha256, locations: [location] };
}
