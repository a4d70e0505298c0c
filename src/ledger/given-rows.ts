import type { Complaints } from "../feed/complaints.ts";
import type { GivenLevel, GivenLevels } from "../feed/given-levels.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import { dateText, sessionKey, type Day } from "../market/session.ts";
import { FIGURES, NOTES } from "./ledger.ts";

/**
 * Combines one contract's rows into one for each session, ascending. Rows for the same session
 * contribute their fields to one row with the place of the first. If two rows give different values
 * for a field, it adds a complaint.
 */
export function onePerSession(
  id: string,
  rows: readonly GivenLevel[],
  given: GivenLevels,
  complaints: Complaints,
): GivenLevel[] {
  const levels: GivenLevel[] = [];
  for (const row of rows.toSorted((a, b) => a.session - b.session)) {
    const last = levels.at(-1);
    if (last?.session === row.session) {
      levels.splice(-1, 1, combined(id, last, row, given, complaints));
    } else levels.push(row);
  }
  return levels;
}

function combined(
  id: string,
  first: GivenLevel,
  second: GivenLevel,
  given: GivenLevels,
  complaints: Complaints,
): GivenLevel {
  const conflict = (column: string, value: string, earlier: string): void =>
    complaints.cell(
      given.whereOf(second),
      column,
      value,
      `${earlier} as in ${given.whereOf(first)}: ${id} has one level for ${sessionKey(first.session)}`,
    );
  if (first.usd !== second.usd) conflict("level", usdText(second.usd), usdText(first.usd));
  for (const [field, column] of Object.entries(COLUMNS) as [keyof typeof COLUMNS, string][]) {
    const [a, b] = [first[field], second[field]];
    if (a === undefined || b === undefined || a === b) continue;
    conflict(column, textOf(field, b), textOf(field, a));
  }
  return { ...second, ...first };
}

/** The input's column for each optional field. */
const COLUMNS = { basis: "basis", asOf: "as_of", ...FIGURES, ...NOTES } as const;

function textOf(field: keyof typeof COLUMNS, value: string | number): string {
  if (field === "asOf") return dateText(value as Day);
  return field === "lowUsd" || field === "highUsd" ? formatMicros(value as Micros) : String(value);
}

const usdText = (usd: Micros | null): string => (usd === null ? "withdrawn" : formatMicros(usd));
