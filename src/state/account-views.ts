/**
 * Accounts, keys and their counted calls as the commands print them: snake_case, instants in ISO 8601.
 */
import { instantText } from "../lib/clock.ts";
import { TIERS } from "../market/tier.ts";
import {
  keysOf,
  trialLapsesAtMs,
  voidAtMs,
  type AccountRecord,
  type KeyRecord,
} from "./accounts.ts";
import type { CountName, StateDriver } from "../ports/state.ts";
import { callsLeft, dayCount, monthEndMs, monthOf, monthsWithCounts } from "../ports/month.ts";

/** An account. From the instant `lapses_at` of its trial on, its calls are refused. */
export function accountView(account: AccountRecord, nowMs: number) {
  const { id: account_id, name, tier, suspended, created_at, note } = account;
  const lapsesAtMs = trialLapsesAtMs(account);
  const trial = account.trial && {
    ...account.trial,
    lapses_at: instantText(lapsesAtMs),
    lapsed: nowMs >= lapsesAtMs,
  };
  return { account_id, name, tier, trial, suspended, created_at, note };
}
export type AccountView = ReturnType<typeof accountView>;

/** A key without its hash: a list needs only the KEYID. */
export function keyView(key: KeyRecord, nowMs: number) {
  const { sha256: _hash, path: _path, ...rest } = key;
  return { ...rest, status: keyStatus(key, nowMs) };
}
export type KeyView = ReturnType<typeof keyView>;

/** A link: its file, its account, and whether it still works. */
export function linkView(link: KeyRecord, nowMs: number) {
  const { key_id: link_id, account, path, label, created_at, revoked_at } = link;
  return { link_id, account, path, label, created_at, revoked_at, status: keyStatus(link, nowMs) };
}

/** If several apply, the first in this order counts. */
function keyStatus(key: KeyRecord, nowMs: number) {
  if (key.revoked_at !== null) return "revoked";
  if (nowMs >= voidAtMs(key)) return key.replaced_by === null ? "expired" : "rotated_out";
  if (key.suspended) return "suspended";
  return key.replaced_by === null ? "active" : "rotating";
}

/** The calls of each account in the month of `nowMs`. `limit` and `remaining` are null without a limit. */
export async function usageOf(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
) {
  const month = monthOf(nowMs);
  const names = accounts.map(({ id }) => ({ subject: `account:${id}` as const, month }));
  const counts = await state.used(names);
  return accounts.map(({ name, tier }, at) => {
    const used = counts[at] ?? 0;
    const limit = TIERS[tier].callsPerMonth;
    const remaining = callsLeft(limit, used);
    const resets_at = instantText(monthEndMs(month));
    return { account: name, tier, month, used, limit, remaining, resets_at };
  });
}

/** What calls are told by: months (`2026-11`) or days (`2026-11-27`), oldest first. */
interface Periods {
  readonly unit: "month" | "day";
  readonly each: readonly string[];
}

/**
 * The calls of each account in each period: the periods with calls, and the last one if the account existed
 * then. `byKey`: in each month the calls of its keys, and last, without a key, the calls of removed keys.
 */
export async function callsOf(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  { unit, each }: Periods,
  byKey: boolean,
  nowMs: number,
) {
  const rows = [];
  for (const account of accounts) {
    const { id: account_id, name, tier, created_at, removed_at } = account;
    const keys = byKey ? await keysOf(state.storage, [account]) : [];
    const names = each.flatMap((period): CountName[] => [
      unit === "day"
        ? dayCount(account_id, period)
        : { subject: `account:${account_id}`, month: period },
      ...keys.map(({ key_id }) => ({ subject: `key:${key_id}` as const, month: period })),
    ]);
    const all = await state.used(names);
    for (const [at, period] of each.entries()) {
      const start = at * (1 + keys.length);
      const [used = 0, ...counts] = all.slice(start, start + 1 + keys.length);
      const existed =
        created_at.slice(0, period.length) <= period && period <= (removed_at ?? period);
      if (used === 0 && !(existed && period === each.at(-1))) continue;
      const when = unit === "day" ? { day: period } : { month: period };
      const row = { ...when, account_id, account: name, tier };
      for (const [index, key] of keys.entries()) {
        const { key_id, label, status } = keyView(key, nowMs);
        rows.push({ ...row, key_id, label, status, used: counts[index] ?? 0 });
      }
      const others = counts.reduce((rest, count) => rest - count, used);
      const ofNone = byKey ? { key_id: null, label: null, status: null } : {};
      if (others > 0 || !byKey) rows.push({ ...row, ...ofNone, used: others });
    }
  }
  return rows;
}

/** The keys with the day UTC of their last use; null: on none whose counts are kept. */
export async function keysWithUse(state: StateDriver, keys: readonly KeyRecord[], nowMs: number) {
  const months = monthsWithCounts(nowMs).reverse();
  const listed = [];
  for (const key of keys) {
    const subject = `key:${key.key_id}:day` as const;
    const days = await state.used(months.map((month) => ({ subject, month })));
    const at = days.findIndex((day) => day > 0);
    const last_used_on = at < 0 ? null : `${months[at]}-${String(days[at]).padStart(2, "0")}`;
    listed.push({ ...keyView(key, nowMs), last_used_on });
  }
  return listed;
}
