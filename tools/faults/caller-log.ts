/** Finds parts of keys in a log. */
import { TELLING_CHARACTERS } from "./caller-keys.ts";

const WORD = /[0-9A-Za-z_]{8,}/g;

/** The members of `parts` (each TELLING_CHARACTERS letters and digits) that occur in the log. */
export function leaked(log: string, parts: ReadonlySet<string>): string[] {
  const found = new Set<string>();
  // Lines repeat the same words: each word is examined once.
  const words = new Set<string>();
  for (const [word] of log.matchAll(WORD)) {
    if (words.has(word)) continue;
    words.add(word);
    for (let at = 0; at + TELLING_CHARACTERS <= word.length; at += 1) {
      const part = word.slice(at, at + TELLING_CHARACTERS);
      if (parts.has(part)) found.add(part);
    }
  }
  return [...found];
}
