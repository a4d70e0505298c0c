/** The days on which sources do not price: weekdays of --closed, dates of --holidays. */
import { readFile } from "node:fs/promises";
import { InvalidArgumentError } from "commander";
import { quoted } from "../feed/complaints.ts";
import { InputError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { dateText, dayOf, parseDate, type Session } from "../market/session.ts";
import { readable } from "./option-files.ts";
import type { OptionParser } from "./option-values.ts";

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** The most lines of a file that a refusal names. */
const FAULTS_SHOWN = 100;

/** Weekdays, separated by commas, in any case. */
export const weekdays: OptionParser<readonly Weekday[]> = (text) =>
  text.split(",").map((word) => {
    const day = WEEKDAYS.find((name) => name.toLowerCase() === word.trim().toLowerCase());
    if (day === undefined) {
      throw new InvalidArgumentError(`expected days such as Sat,Sun: ${WEEKDAYS.join(", ")}`);
    }
    return day;
  });

/**
 * Whether the session's date (UTC) is one of the weekdays, or in the file: a date such as 2026-12-25 on each line,
 * perhaps with a note behind `#`. Throws InputError, with each line that is none.
 */
export async function isClosedDay(
  session: Session,
  closed: readonly Weekday[],
  holidays: string | undefined,
): Promise<boolean> {
  // The file is read on every day, so that a fault in it does not wait for a holiday.
  const dates = holidays === undefined ? [] : await datesIn(holidays);
  const date = dateText(dayOf(session));
  const weekday = WEEKDAYS[new Date(`${date}T00:00Z`).getUTCDay()] as Weekday;
  return closed.includes(weekday) || dates.includes(date);
}

async function datesIn(path: string): Promise<string[]> {
  const where = `--holidays ${JSON.stringify(path)}`;
  const text = await readable(where, () => readFile(path, "utf8"));
  const dates: string[] = [];
  const faults: string[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    const date = (line.split("#", 1)[0] as string).trim();
    if (date === "") continue;
    if (parseDate(date) === null) {
      faults.push(`line ${at + 1}: ${quoted(date)}, expected a date such as 2026-12-25`);
    } else {
      dates.push(date);
    }
  }
  if (faults.length > 0) {
    const more = faults.length - FAULTS_SHOWN;
    const shown = faults.slice(0, FAULTS_SHOWN);
    if (more > 0) shown.push(`and ${counted(more, "more line", "more lines")}`);
    throw new InputError(`${where} is not a list of dates`, shown);
  }
  return dates;
}
