/** The id of each request: in its answer, its problem document and its line of the log. */
import type { Platform } from "../ports/platform.ts";

/** Requests with one random prefix: few, so that ids do not tell how many requests others send. */
const SHARING = 90;
const PREFIX_BYTES = 12;

/**
 * A function that gives a new id, unique over processes and restarts: 26 hexadecimal digits. A random id each would
 * cost five times as much.
 */
export function requestIds({ randomBytes }: Pick<Platform, "randomBytes">): () => string {
  let prefix = "";
  let left = 0;
  return () => {
    if (left === 0) {
      prefix = [...randomBytes(PREFIX_BYTES)]
        .map((byte) => byte.toString(16).padStart(2, "0"))
        .join("");
      left = SHARING;
    }
    left -= 1;
    // Two digits, from 10 to 99.
    return prefix + String(left + 10);
  };
}
