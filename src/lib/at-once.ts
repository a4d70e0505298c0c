/** Work on many items, a bounded number at once: an item that waits takes no memory. */

/** Enough to hide the latency of S3. */
const AT_ONCE = 16;

/** The results of `work` in the order of the items. None is still running when it returns or throws. */
export async function atOnce<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  max = AT_ONCE,
): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const running = Array.from({ length: max }, async () => {
    for (const [at, item] of queue) results[at] = await work(item);
  });
  await Promise.allSettled(running);
  await Promise.all(running);
  return results;
}
