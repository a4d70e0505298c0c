/** Small pieces of text that several rooms write in the same way. */

/** `1 contract`, `2 contracts`; `1 entry`, `2 entries` if `plural` says so. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`;

/** A URL without its user name and password, for messages. Other texts stay as they are. */
export const redactedUrl = (text: string): string =>
  text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1***@");

/** At most `length` UTF-16 units. A longer text ends with an ellipsis, never in half a character. */
export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;

/** Whether a text is one line to store and show, of at most `max` UTF-16 units. */
export const isLine = (text: string, max = 1_000): boolean =>
  text.trim() !== "" && text.length <= max && !/\p{Cc}|\p{Surrogate}/u.test(text);

/** The Levenshtein distance; Infinity if already the lengths differ by more than `max`. */
export function distance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [done, character] of [...a].entries()) {
    const next = [done + 1];
    for (let at = 1; at <= b.length; at += 1) {
      const replaced = (row[at - 1] as number) + (character === b[at - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[at] as number) + 1, (next[at - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
