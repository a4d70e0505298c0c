/** Wide tables: a column for each date or contract, where a table has a row for each level. */
import { quotedList } from "./complaints.ts";
import { isTime } from "./slips.ts";

const startsWithDigit = (name: string): boolean => /^\W*\d/.test(name);

/**
 * The wide columns of a table that lacks the column of the level; null: none. `isKnown`: whether the table
 * can have a column. `isContract`: whether it names a contract. Dates of a text that `isSecret` are not shown.
 */
export function wideness(
  names: readonly string[],
  isKnown: (name: string) => boolean,
  isContract: (name: string) => boolean,
  isSecret: boolean,
): string | null {
  const others = names.filter((name) => name.trim() !== "" && !isKnown(name));
  const contracts = others.filter(isContract);
  // A row of a file without a header names one contract, beside its level.
  if (contracts.length > 1 || (contracts.length === 1 && !others.some(startsWithDigit)))
    return `a wide table, with contracts as columns (${quotedList(contracts, 100)})`;
  const times = others.filter(isTime);
  const hasKnown = names.some(isKnown);
  if (times.length <= (hasKnown ? 0 : 1)) return null;
  const columnNames = isSecret && !hasKnown ? "" : ` (${quotedList(times, 100)})`;
  return `a wide table, with dates as columns${columnNames}`;
}
