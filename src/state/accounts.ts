/**
 * What the registry keeps, as stored, and what it means for a key that is presented.
 *
 *   accounts:acme        {"name":"acme","tier":"starter","trial":null,"suspended":false,…}
 *   keys:<sha256>        {"key_id":"cbk_1a2B3c4D","account":"acme","suspended":false,…}
 *   key-ids:<KEYID>      {"sha256":"…"}
 *
 * A key is found by its SHA-256 in one look-up, its account in a second, however many there are.
 */
import { z } from "zod";
import { DAY_MS } from "../clock.ts";
import { KEY_TIER_NAMES } from "../market/tier.ts";
import type { KeyHolder, KeyVerdict } from "./gatekeeper.ts";

const instant = z.iso.datetime({ precision: 3 });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The form of an account's item. Instants are ISO 8601 with milliseconds. */
export const accountRecord = z.object({
  name: z.string(),
  tier: z.enum(KEY_TIER_NAMES),
  /** Lapses `days` × 24 hours after it began. */
  trial: z.object({ started_at: instant, days: z.int().positive() }).nullable(),
  suspended: z.boolean(),
  created_at: instant,
  /** SHA-256 of every key the account ever had, oldest first. */
  keys: z.array(sha256),
});
/** An account as stored. */
export type AccountRecord = z.infer<typeof accountRecord>;

/** The form of a key's item. */
export const keyRecord = z.object({
  key_id: z.string(),
  sha256,
  account: z.string(),
  label: z.string().nullable(),
  created_at: instant,
  suspended: z.boolean(),
  revoked_at: instant.nullable(),
  /** The end of a rotation's overlap, and the KEYID that took over; null while not rotated. */
  expires_at: instant.nullable(),
  replaced_by: z.string().nullable(),
});
/** A key as stored: all but the key itself. */
export type KeyRecord = z.infer<typeof keyRecord>;

/** The form of a KEYID's item: which key it belongs to. */
export const keyIdRecord = z.object({ sha256 });

/** The item that an account of this name has. */
export const accountItem = (name: string): string => `accounts:${name}`;
/** The item that the key with this SHA-256 (hex) has. */
export const keyItem = (hash: string): string => `keys:${hash}`;
/** The item by which a KEYID leads to its key. */
export const keyIdItem = (keyId: string): string => `key-ids:${keyId}`;

/** When the account's trial lapses (epoch milliseconds); infinity without one. */
export const trialLapsesAtMs = ({ trial }: AccountRecord): number =>
  trial === null ? Infinity : Date.parse(trial.started_at) + trial.days * DAY_MS;

/** What a stored key is worth, prepared so that judging it costs nothing. */
export interface Holding {
  /** From this instant on the key is void: revoked, or rotated out. */
  readonly voidAtMs: number;
  readonly isSuspended: boolean;
  /** When the trial lapses; infinity without one. */
  readonly lapsesAtMs: number;
  /** The three verdicts that are possible before it is void, made once. */
  readonly valid: KeyVerdict;
  readonly suspended: KeyVerdict;
  readonly lapsed: KeyVerdict;
}

/** What the key is worth, as long as neither it nor its account changes. */
export function holdingOf(key: KeyRecord, account: AccountRecord): Holding {
  const { name, tier } = account;
  const holder: KeyHolder = { account: name, tier, subject: `account:${name}` };
  return {
    voidAtMs: voidAtMs(key),
    isSuspended: key.suspended || account.suspended,
    lapsesAtMs: trialLapsesAtMs(account),
    valid: { ok: true, ...holder },
    suspended: { ok: false, code: "key_suspended", ...holder },
    lapsed: { ok: false, code: "trial_lapsed", ...holder },
  };
}

/** From when on the key is void (epoch milliseconds); infinity for a key that stands. */
export function voidAtMs(key: KeyRecord): number {
  if (key.revoked_at !== null) return -Infinity;
  return key.expires_at === null ? Infinity : Date.parse(key.expires_at);
}

/** Verdicts that name no account. */
export const INVALID_KEY: KeyVerdict = { ok: false, code: "invalid_key" };
/** The state cannot be asked, and nothing is known of the key. */
export const STATE_UNAVAILABLE: KeyVerdict = { ok: false, code: "state_unavailable" };

/** The verdict on a key at an instant, in the order in which refusals come. */
export function judge(holding: Holding, nowMs: number): KeyVerdict {
  if (nowMs >= holding.voidAtMs) return INVALID_KEY;
  if (holding.isSuspended) return holding.suspended;
  return nowMs >= holding.lapsesAtMs ? holding.lapsed : holding.valid;
}
