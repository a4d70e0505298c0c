/** The two kinds of lru-cache that several rooms use. The entry that was not used for the longest time goes first. */
import { LRUCache } from "lru-cache";

/** A cache of up to `entries` entries. lru-cache's own `max` would allocate all of them at the start. */
export const cacheOf = <V extends {}>(entries: number): LRUCache<string, V> =>
  new LRUCache({ maxSize: entries, sizeCalculation: () => 1 });

/**
 * A cache of up to `entries` values that are made when they are asked for, by
 * `forceFetch(key, { context: make })`. Requests for the same key share one call of `make`; if it
 * fails, the next request tries again.
 */
export const madeOnce = <V extends {}>(entries: number): LRUCache<string, V, () => Promise<V>> =>
  new LRUCache({
    max: entries,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _old, { context: make }) => make(),
  });
