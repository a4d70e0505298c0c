/** When the demonstration's sources give levels, and when these move. */
import { SESSIONS_PER_DAY, dateText, dayOf, type Day, type Session } from "../market/session.ts";
import { seedOf, uniformAt } from "./random.ts";

/**
 * How a source prices:
 * `weekdays`: at 00:00 and 12:00, not on Saturdays and Sundays.
 * `overnight`: the same, but the level of 00:00 is the assessment of the day before.
 * `stepped`: a shop's price, read in every session, which moves in steps.
 * `irregular`: the same, read in seven of eight sessions, at random.
 * `monthly`: at 12:00 of a month's last weekday.
 * `quarterly`: at 12:00 of the first weekday of every third month.
 */
export type Schedule = "weekdays" | "overnight" | "stepped" | "irregular" | "monthly" | "quarterly";

interface Scheduled {
  readonly id: string;
  readonly schedule: Schedule;
}

/** A shop changes its price about every two weeks. */
const STEP_SHARE = 1 / 30;

/** Whether the level moves at the session. */
export const fixesLevel = ({ schedule, id }: Scheduled, session: Session): boolean =>
  FIXES[schedule](session, id);

/** Whether the source gives the level of the session, moved or not. */
export const givesLevel = ({ schedule, id }: Scheduled, session: Session): boolean =>
  GIVES[schedule](session, id);

type Rule = (session: Session, id: string) => boolean;

const isStep: Rule = (session, id) => uniformAt(seedOf(`step ${id}`), session) < STEP_SHARE;
const onWeekdays: Rule = (session) => isWeekday(dayOf(session));
/** At 00:00 of the day after a weekday, and at 12:00 of a weekday. */
const overnight: Rule = (session) => isWeekday(dayOf(session) - (isMidnight(session) ? 1 : 0));
const monthly: Rule = (session) => !isMidnight(session) && isLastWeekday(dayOf(session));
const quarterly: Rule = (session, id) =>
  !isMidnight(session) &&
  isFirstWeekday(dayOf(session)) &&
  monthNumber(dayOf(session)) % 3 === seedOf(`quarter ${id}`) % 3;

const FIXES: Readonly<Record<Schedule, Rule>> = {
  weekdays: onWeekdays,
  overnight,
  stepped: isStep,
  irregular: isStep,
  monthly,
  quarterly,
};
const GIVES: Readonly<Record<Schedule, Rule>> = {
  ...FIXES,
  stepped: () => true,
  irregular: (session, id) => uniformAt(seedOf(`schedule ${id}`), session) >= 1 / 8,
};

export const isMidnight = (session: Session): boolean => session % SESSIONS_PER_DAY === 0;

/** Day 0, 1970-01-01, was a Thursday, so Saturday is 2 and Sunday is 3 modulo 7. */
const isWeekday = (day: Day): boolean => ![2, 3].includes(day % 7);

const monthNumber = (day: Day): number => Number(dateText(day).slice(5, 7));

/** No weekday of the same month comes later: one does within three days. */
const isLastWeekday = (day: Day): boolean => isWeekday(day) && !hasWeekday(day, [1, 2, 3]);
const isFirstWeekday = (day: Day): boolean => isWeekday(day) && !hasWeekday(day, [-1, -2, -3]);
const hasWeekday = (day: Day, offsets: readonly number[]): boolean =>
  offsets.some(
    (offset) => isWeekday(day + offset) && monthNumber(day + offset) === monthNumber(day),
  );
