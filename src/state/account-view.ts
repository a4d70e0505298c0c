/** Accounts, keys and usage as the commands print them in JSON: snake_case, instants in ISO 8601. */
import { instantText } from "../lib/clock.ts";
import { trialLapsesAtMs, voidAtMs, type AccountRecord, type KeyRecord } from "./accounts.ts";
import type { NewKey } from "./registry.ts";
import type { AccountUsage, KeyUsage } from "./usage.ts";

/** The status of a key. If several apply, the first in this order counts. */
type KeyStatus = "revoked" | "rotated_out" | "suspended" | "rotating" | "active";

function keyStatus(key: KeyRecord, nowMs: number): KeyStatus {
  if (key.revoked_at !== null) return "revoked";
  if (nowMs >= voidAtMs(key)) return "rotated_out";
  if (key.suspended) return "suspended";
  return key.expires_at === null ? "active" : "rotating";
}

/** An account. From the instant `lapses_at` of its trial on, its calls are refused. */
export function accountView(account: AccountRecord, nowMs: number) {
  const { name, tier, trial, suspended, created_at, note } = account;
  const lapsesAtMs = trialLapsesAtMs(account);
  return {
    name,
    tier,
    trial:
      trial === null
        ? null
        : { ...trial, lapses_at: instantText(lapsesAtMs), lapsed: nowMs >= lapsesAtMs },
    suspended,
    created_at,
    note,
  };
}

/** A key without its hash: a list needs only the KEYID. */
export function keyView({ sha256: _hash, ...key }: KeyRecord, nowMs: number) {
  return { ...key, status: keyStatus({ ...key, sha256: _hash }, nowMs) };
}

/** A new key, with the whole text of the key. */
export const newKeyView = ({ key, record }: NewKey) => ({
  key,
  key_id: record.key_id,
  account: record.account,
  label: record.label,
  created_at: record.created_at,
});

/** An account's calls in the month. `limit` and `remaining` are null without a limit. */
export const usageView = ({ resetsAtMs, ...usage }: AccountUsage) => ({
  ...usage,
  resets_at: instantText(resetsAtMs),
});

/** A key's calls in the month. Without a key: calls that version 0.1.0 counted for the account only. */
export const keyUsageView = ({ account, key, month, used }: KeyUsage, nowMs: number) => ({
  account,
  key_id: key?.key_id ?? null,
  label: key?.label ?? null,
  status: key === null ? null : keyStatus(key, nowMs),
  month,
  used,
});
