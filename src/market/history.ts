import type { Micros } from "./decimal.ts";
import type { LevelSeries } from "./level-series.ts";
import type { Day, Session } from "./session.ts";

/** One daily close. */
export interface Close {
  readonly date: Day;
  readonly usd: Micros;
}

/**
 * Visits the closes of the levels given at or before `session`, one for each distinct `as_of`, of
 * several levels the last. Ascending. Only dates after `floor` are taken, but the last one always is:
 * it equals the level in force, whatever its age.
 */
export function eachClose(
  series: LevelSeries,
  session: Session,
  floor: Day,
  visit: (date: Day, usd: Micros) => void,
): void {
  const end = series.indexAt(session);
  if (end < 0) return;
  let index = end;
  // as_of never decreases.
  while (index > 0 && series.asOfAt(index - 1) > floor) index -= 1;
  for (let date = series.asOfAt(index); index <= end; index += 1) {
    const next = index === end ? null : series.asOfAt(index + 1);
    if (date !== next) visit(date, series.usd[index] as number);
    if (next !== null) date = next;
  }
}

/** The same as a list. */
export function closes(series: LevelSeries, session: Session, floor: Day): Close[] {
  const result: Close[] = [];
  eachClose(series, session, floor, (date, usd) => result.push({ date, usd }));
  return result;
}
