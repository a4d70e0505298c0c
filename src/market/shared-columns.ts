/** Columns in memory that threads can share. */

/** A copy of a column in memory that threads can share. */
export function sharedInt32(column: Int32Array): Int32Array {
  const shared = new Int32Array(new SharedArrayBuffer(column.byteLength));
  shared.set(column);
  return shared;
}

/** As `sharedInt32`. */
export function sharedFloat64(column: Float64Array): Float64Array {
  const shared = new Float64Array(new SharedArrayBuffer(column.byteLength));
  shared.set(column);
  return shared;
}

let lastSessions: Int32Array = new Int32Array(new SharedArrayBuffer(0));

/**
 * As `sharedInt32`, but one copy for equal columns that follow each other: most contracts have levels
 * for the very sessions of the one before them. Treat as immutable.
 */
export function sharedSessions(column: Int32Array): Int32Array {
  if (!isSame(column, lastSessions)) lastSessions = sharedInt32(column);
  return lastSessions;
}

function isSame(a: Int32Array, b: Int32Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at += 1) {
    if (a[at] !== b[at]) return false;
  }
  return true;
}
