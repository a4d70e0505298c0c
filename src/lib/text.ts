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
