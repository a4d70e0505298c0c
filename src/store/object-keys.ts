/**
 * The form of a key: relative, separated by `/`, ASCII, without hidden segments. So every key stays
 * inside the store's folder and is valid on every driver. Drivers use hidden names for themselves.
 */
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}$/;
const MAX_KEY_LENGTH = 900;

/** Whether a name can be a segment of a key. */
export const isSegment = (name: string): boolean => SEGMENT.test(name);

/** Whether an object can have this key. Reading any other key finds nothing. */
export const isKey = (key: string): boolean =>
  key.length <= MAX_KEY_LENGTH && key.split("/").every(isSegment);

/** Throws TypeError (a defect of the caller) if no object can have this key. */
export function requireKey(key: string): void {
  if (isKey(key)) return;
  throw new TypeError(
    `Key ${JSON.stringify(key)}: expected segments of A-Z a-z 0-9 . _ -, separated by "/", none of which starts with "."`,
  );
}
