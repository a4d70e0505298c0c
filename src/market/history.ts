import type { Micros } from "./decimal.ts";
import type { LevelSeries } from "./level-series.ts";
import type { Day, Session } from "./session.ts";

/** One daily close. */
export interface Close {
  readonly date: Day;
  readonly usd: Micros;
}

/**
 * The closes of the levels given at or before `session`, one for each distinct `as_of`, of several
 * levels the last. Ascending. Only dates after `floor` are taken, but the last one always is: it
 * equals the level in force, whatever its age.
 */
export function closes(series: LevelSeries, session: Session, floor: Day): Close[] {
  const end = series.indexAt(session);
  const result: Close[] = [];
  let date: Day | null = null;
  // Backwards, the first level met of an as_of is the one that stands; as_of never decreases.
  for (let index = end; index >= 0; index -= 1) {
    const asOf = series.asOf[index] as number;
    if (asOf === date) continue;
    if (asOf <= floor && index !== end) break;
    date = asOf;
    result.push({ date: asOf, usd: series.usd[index] as number });
  }
  return result.reverse();
}
