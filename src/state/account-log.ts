/**
 * The log of accounts: an entry for each change of an account, its keys or its links, and for each log of a store that
 * `state forget-log` takes up. The change itself writes it, in the same atomic step.
 *
 *   facts:account-log                   {"last":41}
 *   facts:account-log:acme:0000000041   {"number":41,"at":"…","account":"acme","action":"accounts set",…}
 *
 * It holds no key, token or hash. Version 0.2.0 ignores facts that it does not know, and copies them.
 */
import { userInfo } from "node:os";
import type { Storage } from "unstorage";
import { z } from "zod";
import { instantText } from "../lib/clock.ts";
import type { SeenLog } from "../snapshot/log/lost.ts";
import {
  find,
  readAll,
  trialLapsesAtMs,
  type AccountRecord,
  type KeyRecord,
  type Write,
} from "./accounts.ts";

const LAST_ITEM = "facts:account-log";
/** Whether an item is an entry of the log. */
export const isLogEntry = (item: string): boolean => item.startsWith(`${LAST_ITEM}:`);

const lastRecord = z.object({ last: z.int().positive() });

/** Fields of an account, a key or a link. */
const details = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
export type Details = z.infer<typeof details>;

const entryRecord = z.object({
  /** From 1, in the order of the changes. Clocks of machines differ. */
  number: z.int().positive(),
  at: z.iso.datetime({ precision: 3 }),
  account: z.string(),
  account_id: z.string(),
  /** The command: `accounts set`. */
  action: z.string(),
  /** The KEYID or LINKID; null: the account itself was changed. */
  key_id: z.string().nullable(),
  /** The fields that changed, or null: it was made, or removed. */
  before: details.nullable(),
  after: details.nullable(),
  by: z.string(),
});
export type AccountLogEntry = z.infer<typeof entryRecord>;

/** A change of the account, or of one of its keys or links, as its plan notes it (see `append`). */
export interface NotedChange {
  readonly action: string;
  readonly account: Pick<AccountRecord, "id" | "name">;
  readonly keyId?: string;
  readonly before: Details | null;
  readonly after: Details | null;
}

/** What the log tells of an account. */
export const accountDetails = (account: AccountRecord): Details => ({
  tier: account.tier,
  trial_until: account.trial && instantText(trialLapsesAtMs(account)),
  suspended: account.suspended,
  note: account.note,
});

/** What the log tells of a key, or of a link. */
export function keyDetails({ path, label, revoked_at, ...key }: KeyRecord): Details {
  if (path !== null) return { label, path, revoked_at };
  const { expires_at, suspended, replaced_by } = key;
  return { label, expires_at, suspended, revoked_at, replaced_by };
}

/** Stands for an account in entries on the whole state. No account has this name. */
export const NO_ACCOUNT = { id: "-", name: "-" } as const;

/** What the log of accounts tells of the log of a store. */
export const logDetails = (log: SeenLog | null): Details | null =>
  log && { store: log.store, entry: log.number, sha256: log.sha256 };

/** The fields in which two differ, before and after; null: in none. */
export function difference(before: Details, after: Details) {
  const names = Object.keys(after).filter((name) => before[name] !== after[name]);
  const only = (all: Details): Details =>
    Object.fromEntries(names.map((name) => [name, all[name] ?? null]));
  return names.length === 0 ? null : { before: only(before), after: only(after) };
}

/**
 * Writes an entry for each change, but none for one that changes nothing. An entry on the whole state stands for an act
 * of the operator: it has both sides whole, also where they are equal.
 */
export async function append(
  storage: Storage,
  write: Write,
  changes: readonly NotedChange[],
  at: string,
  by: string,
): Promise<void> {
  if (changes.length === 0) return;
  let { last } = (await find(storage, lastRecord, LAST_ITEM)) ?? { last: 0 };
  const before = last;
  for (const { action, account, keyId, ...change } of changes) {
    const { before: old, after } = change;
    const isWhole = old === null || after === null || account === NO_ACCOUNT;
    const noted = isWhole ? change : difference(old, after);
    if (noted === null) continue;
    last += 1;
    const of = { account: account.name, account_id: account.id, action, key_id: keyId ?? null };
    const entry = { number: last, at, ...of, before: noted.before, after: noted.after, by };
    write(itemOf(entry), entry satisfies AccountLogEntry);
  }
  if (last > before) write(LAST_ITEM, { last });
}

/** The entries of all accounts that ever had the name, or of all, oldest first. */
export async function logOf(storage: Storage, name?: string): Promise<AccountLogEntry[]> {
  const base = name === undefined ? LAST_ITEM : `${LAST_ITEM}:${name}`;
  const entries = await readAll(storage, entryRecord, await storage.getKeys(base));
  return entries.sort((a, b) => a.number - b.number);
}

/** Removes the entries of an account. */
export async function forgetLogOf(
  storage: Storage,
  write: Write,
  { id, name }: AccountRecord,
): Promise<void> {
  for (const entry of await logOf(storage, name))
    if (entry.account_id === id) write(itemOf(entry), null);
}

/** The name of the system's user; if it has none, its number. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
}

const itemOf = ({ account, number }: Pick<AccountLogEntry, "account" | "number">): string =>
  `${LAST_ITEM}:${account}:${String(number).padStart(10, "0")}`;
