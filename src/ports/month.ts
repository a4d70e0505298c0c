/**
 * Calls are counted by calendar month UTC (`2026-11`), and calls of accounts also by day (`2026-11-27`). When a
 * month ends, and how long counts are kept.
 */
import { DAY_MS, HOUR_MS } from "../lib/clock.ts";
import type { CountName, Subject } from "./state.ts";

/** How long counts of addresses outlive their month: an hour, for clocks that differ. */
const ADDRESS_RETENTION_MS = HOUR_MS;
/** The same for accounts and keys. */
const ACCOUNT_RETENTION_MS = 400 * DAY_MS;
/** How long an account's count of a day outlives the day: so the month before this one is always whole. */
const DAY_RETENTION_MS = 62 * DAY_MS;

let lastMonth = { startMs: 0, endMs: 0, text: "" };

/** The month that the instant `atMs` (epoch milliseconds) falls into. */
export function monthOf(atMs: number): string {
  if (atMs < lastMonth.startMs || atMs >= lastMonth.endMs) {
    const text = new Date(atMs).toISOString().slice(0, 7);
    lastMonth = { startMs: Date.parse(`${text}-01T00:00:00Z`), endMs: monthEndMs(text), text };
  }
  return lastMonth.text;
}

let lastDay = { startMs: 0, text: "1970-01-01" };

/** The day that the instant `atMs` falls into. */
export function dayAt(atMs: number): string {
  const startMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  if (startMs !== lastDay.startMs)
    lastDay = { startMs, text: new Date(startMs).toISOString().slice(0, 10) };
  return lastDay.text;
}

/** The count of an account on a day: within its month, beside the account's. */
export const dayCount = (accountId: string, day: string): CountName => ({
  subject: `day:${day.slice(8)}:${accountId}`,
  month: day.slice(0, 7),
});

/** The first instant of the following month, at which a month's quota resets. */
export const monthEndMs = (month: string): number =>
  Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1);

/** The calls left of a tier's limit after `used` calls; null: no limit. */
export const callsLeft = (limit: number | null, used: number): number | null =>
  limit === null ? null : Math.max(0, limit - used);

/** The months of which the state keeps the counts of accounts and keys at `nowMs`, oldest first. */
export function monthsWithCounts(nowMs: number): string[] {
  const months: string[] = [];
  let month = monthOf(nowMs - ACCOUNT_RETENTION_MS);
  for (; month < monthOf(nowMs); month = monthOf(monthEndMs(month))) months.push(month);
  return [...months, month];
}

/** The days that `usage --per day` shows at `nowMs`, oldest first. The state keeps their counts. */
export const daysWithCounts = (nowMs: number): string[] =>
  Array.from({ length: DAY_RETENTION_MS / DAY_MS }, (_, at) =>
    dayAt(nowMs - at * DAY_MS),
  ).reverse();

/** The instant from which the count of `subject` in `month` may be deleted. */
export function forgetAtMs(subject: Subject, month: string): number {
  if (subject.startsWith("address:")) return monthEndMs(month) + ADDRESS_RETENTION_MS;
  if (!subject.startsWith("day:")) return monthEndMs(month) + ACCOUNT_RETENTION_MS;
  const [, day = ""] = subject.split(":");
  return Date.parse(`${month}-${day}`) + DAY_MS + DAY_RETENTION_MS;
}

/**
 * The subjects whose counts may be deleted at `nowMs`, by month: from one on, up to before another. Ranges, because
 * a state has many more counts than old ones. Counts of months before `monthsWithCounts` may also go.
 */
export function rangesToForget(nowMs: number) {
  const address = monthOf(nowMs - ADDRESS_RETENTION_MS);
  const day = dayAt(nowMs - DAY_RETENTION_MS);
  const { subject, month: last } = dayCount("", day);
  return monthsWithCounts(nowMs).flatMap((month) => [
    ...(month < address ? [{ month, from: "address:", before: "address;" }] : []),
    ...(month < last ? [{ month, from: "day:", before: "day;" }] : []),
    ...(month === last ? [{ month, from: "day:", before: subject }] : []),
  ]);
}
