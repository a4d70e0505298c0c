/** Caches of values. The entry that was not used for the longest time goes first. */
import { LRUCache } from "lru-cache";
import type { Place } from "./turns.ts";

/** A cache of up to `entries` entries. lru-cache's own `max` would allocate all of them at the start. */
export const cacheOf = <V extends {}>(entries: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: entries, sizeCalculation: () => 1 });

/**
 * The kept value, or the one that `make` gives in the place's turn, which is kept. Requests share values, never
 * promises: a host may end one with the request that made it. So several places may make the same value at once.
 */
export async function getOrMake<V extends {}>(
  kept: Pick<LRUCache<string, V>, "get" | "set">,
  key: string,
  place: Place,
  make: () => V | Promise<V>,
): Promise<V> {
  return (
    kept.get(key) ??
    place.run(async () => {
      const made = kept.get(key) ?? (await make());
      kept.set(key, made);
      return made;
    })
  );
}
