/** The counted calls of accounts, for the commands: of this month, also by key, and by month. */
import { TIERS, type KeyTierName } from "../market/tier.ts";
import { keysOf, type AccountRecord, type KeyRecord } from "./accounts.ts";
import type { CountName, StateDriver } from "./driver.ts";
import { callsLeft, monthEndMs, monthOf, monthsWithCounts } from "./month.ts";

/** The calls of one key in the current month. */
export interface KeyUsage {
  readonly account: string;
  /** Null: calls of the account that were counted for no key of its own, as version 0.1.0 did. */
  readonly key: KeyRecord | null;
  /** `2026-11`. */
  readonly month: string;
  readonly used: number;
}

/** An account's calls in one month. */
export interface MonthUsage {
  readonly account: string;
  /** `2026-11`. */
  readonly month: string;
  readonly used: number;
}

/** An account's calls in the current month. `limit` and `remaining` are null without a limit. */
export interface AccountUsage {
  readonly account: string;
  readonly tier: KeyTierName;
  /** `2026-11`. */
  readonly month: string;
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  /** Epoch milliseconds. */
  readonly resetsAtMs: number;
}

/** The calls of each account in the month of `nowMs`. */
export async function usageOf(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
): Promise<AccountUsage[]> {
  const month = monthOf(nowMs);
  const counts = await state.used(accounts.map(({ name }) => countOf(name, month)));
  return accounts.map(({ name, tier }, index) => {
    const used = counts[index] ?? 0;
    const limit = TIERS[tier].callsPerMonth;
    const remaining = callsLeft(limit, used);
    return { account: name, tier, month, used, limit, remaining, resetsAtMs: monthEndMs(month) };
  });
}

/** The calls of each account's keys in the month of `nowMs`. They sum to the account's calls. */
export async function usageByKey(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
): Promise<KeyUsage[]> {
  const month = monthOf(nowMs);
  const found: KeyUsage[] = [];
  for (const account of accounts) {
    const keys = await keysOf(state.storage, account);
    const [used = 0, ...counts] = await state.used([
      countOf(account.name, month),
      ...keys.map(({ key_id }) => ({ subject: `key:${key_id}` as const, month })),
    ]);
    const ofAccount = { account: account.name, month };
    keys.forEach((key, at) => found.push({ ...ofAccount, key, used: counts[at] ?? 0 }));
    const rest = used - counts.reduce((sum, count) => sum + count, 0);
    if (rest > 0) found.push({ ...ofAccount, key: null, used: rest });
  }
  return found;
}

/** The calls of each account by month, oldest first: months with calls, and that of `nowMs`. */
export async function usageByMonth(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
): Promise<MonthUsage[]> {
  const months = monthsWithCounts(nowMs);
  const found: MonthUsage[] = [];
  for (const { name } of accounts) {
    const counts = await state.used(months.map((month) => countOf(name, month)));
    months.forEach((month, at) => {
      const used = counts[at] ?? 0;
      if (used > 0 || month === months.at(-1)) found.push({ account: name, month, used });
    });
  }
  return found;
}

const countOf = (account: string, month: string): CountName => ({
  subject: `account:${account}`,
  month,
});
