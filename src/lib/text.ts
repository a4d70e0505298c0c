/** Small pieces of text that several rooms write in the same way. */

/** `1 contract`, `2 contracts`; `1 entry`, `2 entries` if `plural` says so. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** At most `length` UTF-16 units. A longer text ends with an ellipsis, never in half a character. */
export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;

/** Whether a text is one line to store and show, of at most `max` UTF-16 units. */
export const isLine = (text: string, max = 1_000): boolean =>
  text.trim() !== "" && text.length <= max && !/\p{Cc}|\p{Surrogate}/u.test(text);

/** Without percent-encoding; unchanged if a `%` is malformed. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** How many steps comparing texts may still take: each is one character against another. */
export interface Budget {
  steps: number;
}

/**
 * The Levenshtein distance; Infinity if it is more than `max`, or if the budget is used up before it is known.
 * Only the 2 · max + 1 diagonals are looked at on which a distance up to `max` can lie.
 */
export function distance(
  a: string,
  b: string,
  max: number,
  budget: Budget = { steps: Infinity },
): number {
  if (Math.abs(a.length - b.length) > max || budget.steps <= 0) return Infinity;
  let same = 0;
  while (same < a.length && a[same] === b[same]) same += 1;
  const from = a.slice(same);
  const to = b.slice(same);
  const width = 2 * max + 1;
  budget.steps -= same + from.length * width;
  if (budget.steps < 0) return Infinity;
  // In each row the place k stands for the column row + k - max.
  let above = Array.from({ length: width }, (_, k) => (k < max ? Infinity : k - max));
  for (let row = 1; row <= from.length; row += 1) {
    const next: number[] = [];
    for (let k = 0; k < width; k += 1) {
      const column = row + k - max;
      const replaced = (above[k] as number) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const removed = (above[k + 1] ?? Infinity) + 1;
      const added = (next[k - 1] ?? Infinity) + 1;
      const isOutside = column < 0 || column > to.length;
      next.push(isOutside ? Infinity : column === 0 ? row : Math.min(replaced, removed, added));
    }
    if (Math.min(...next) > max) return Infinity;
    above = next;
  }
  const found = above[to.length - from.length + max] as number;
  return found <= max ? found : Infinity;
}
