/** Calls are counted by calendar month UTC (`2026-11`). When a month ends, and how long it is kept. */
import { DAY_MS, HOUR_MS } from "../lib/clock.ts";
import type { Subject } from "./driver.ts";

/** How long counts of addresses outlive their month: an hour, for clocks that differ. */
export const ADDRESS_RETENTION_MS = HOUR_MS;
/** The same for accounts and keys. */
export const ACCOUNT_RETENTION_MS = 400 * DAY_MS;

let lastMonth = { startMs: 0, endMs: 0, text: "" };

/** The month that the instant `atMs` (epoch milliseconds) falls into. */
export function monthOf(atMs: number): string {
  if (atMs < lastMonth.startMs || atMs >= lastMonth.endMs) {
    const text = new Date(atMs).toISOString().slice(0, 7);
    lastMonth = { startMs: Date.parse(`${text}-01T00:00:00Z`), endMs: monthEndMs(text), text };
  }
  return lastMonth.text;
}

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

/** The instant from which the count of `subject` in `month` may be deleted. */
export const forgetAtMs = (subject: Subject, month: string): number =>
  monthEndMs(month) +
  (subject.startsWith("address:") ? ADDRESS_RETENTION_MS : ACCOUNT_RETENTION_MS);
