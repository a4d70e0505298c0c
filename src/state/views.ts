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
import type { CountName, StateDriver } from "./driver.ts";
import { callsLeft, monthEndMs, monthOf, monthsWithCounts } from "./month.ts";

/** An account. From the instant `lapses_at` of its trial on, its calls are refused. */
export function accountView(account: AccountRecord, nowMs: number) {
  const { name, tier, suspended, created_at, note } = account;
  const lapsesAtMs = trialLapsesAtMs(account);
  const trial = account.trial && {
    ...account.trial,
    lapses_at: instantText(lapsesAtMs),
    lapsed: nowMs >= lapsesAtMs,
  };
  return { name, tier, trial, suspended, created_at, note };
}
/** See accountView. */
export type AccountView = ReturnType<typeof accountView>;

/** A key without its hash: a list needs only the KEYID. */
export function keyView(key: KeyRecord, nowMs: number) {
  const { sha256: _hash, ...shown } = key;
  return { ...shown, status: keyStatus(key, nowMs) };
}
/** See keyView. */
export type KeyView = ReturnType<typeof keyView>;

/** If several apply, the first in this order counts. */
function keyStatus(key: KeyRecord, nowMs: number) {
  if (key.revoked_at !== null) return "revoked";
  if (nowMs >= voidAtMs(key)) return "rotated_out";
  if (key.suspended) return "suspended";
  return key.expires_at === null ? "active" : "rotating";
}

/** The calls of each account in the month of `nowMs`. `limit` and `remaining` are null without a limit. */
export async function usageOf(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
) {
  const month = monthOf(nowMs);
  const counts = await state.used(accounts.map(({ name }) => countOf(name, month)));
  return accounts.map(({ name, tier }, at) => {
    const used = counts[at] ?? 0;
    const limit = TIERS[tier].callsPerMonth;
    const remaining = callsLeft(limit, used);
    const resets_at = instantText(monthEndMs(month));
    return { account: name, tier, month, used, limit, remaining, resets_at };
  });
}

/**
 * The calls of each account's keys in the month of `nowMs`. They sum to the account's calls: those of keys
 * that were removed, with an account of the same name, stand last and without a key.
 */
export async function usageByKey(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
) {
  const month = monthOf(nowMs);
  const found = [];
  for (const account of accounts) {
    const keys = await keysOf(state.storage, [account]);
    const names = keys.map(({ key_id }) => ({ subject: `key:${key_id}` as const, month }));
    const [used = 0, ...counts] = await state.used([countOf(account.name, month), ...names]);
    const ofAccount = { account: account.name, key_id: null, label: null, status: null, month };
    for (const [at, key] of keys.entries()) {
      const { key_id, label, status } = keyView(key, nowMs);
      found.push({ ...ofAccount, key_id, label, status, used: counts[at] ?? 0 });
    }
    const others = used - counts.reduce((sum, count) => sum + count, 0);
    if (others > 0) found.push({ ...ofAccount, used: others });
  }
  return found;
}

/** The calls of each account by month, oldest first: months with calls, and that of `nowMs`. */
export async function usageByMonth(
  state: StateDriver,
  accounts: readonly AccountRecord[],
  nowMs: number,
) {
  const months = monthsWithCounts(nowMs);
  const found = [];
  for (const { name: account } of accounts) {
    const counts = await state.used(months.map((month) => countOf(account, month)));
    for (const [at, month] of months.entries()) {
      const used = counts[at] ?? 0;
      if (used > 0 || month === months.at(-1)) found.push({ account, month, used });
    }
  }
  return found;
}

const countOf = (account: string, month: string): CountName => ({
  subject: `account:${account}`,
  month,
});
