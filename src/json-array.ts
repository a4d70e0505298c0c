/** A JSON array with one item a line, so that people and `diff` can read stored files. */
export const jsonArray = (items: readonly string[]): string =>
  items.length === 0 ? "[]" : `[\n${items.join(",\n")}\n]`;
