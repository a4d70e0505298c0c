/** Keys as callers send them: valid, mistyped, cut off, doubled, in unusual headers. */
import fc from "fast-check";
import { createKey } from "../../src/state/api-keys.ts";
import type { TierName } from "../../src/market/tier.ts";
import type { Account } from "./caller-service.ts";

/** The headers that identify a caller. */
export interface Credential {
  /** Header lines, without CR LF. */
  readonly lines: readonly string[];
  /** The tier whose data the caller may get; null: no data. */
  readonly tier: TierName | null;
  /** What no log may contain. */
  readonly secrets: readonly string[];
}

const NOBODY: Credential = { lines: [], tier: "free", secrets: [] };
const KEY_CHARACTERS = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"];
const PREFIX = /^(?:cbk|lnk)_/i;

/** A log that contains this many characters of a secret leaks it. */
export const TELLING_CHARACTERS = 8;

/** The log names a key by its first characters after the prefix, which may be shown. */
const ID_CHARACTERS = 8;

/** The part of a key or a link, or of a piece of one, that no log may contain; null if the piece is too short. */
export function tellingPart(key: string): string | null {
  const part = key.replace(PREFIX, "").slice(ID_CHARACTERS, ID_CHARACTERS + TELLING_CHARACTERS);
  return /^[0-9A-Za-z_]{8}$/.test(part) ? part : null;
}

export function credentials(accounts: readonly Account[]): fc.Arbitrary<Credential> {
  const account = fc.constantFrom(...accounts);
  const bad = wrongKeys(accounts).map((key): Credential => ({
    lines: [`Authorization: Bearer ${key}`],
    tier: null,
    secrets: [key],
  }));
  const badField = wrongKeys(accounts).map((key): Credential => ({
    lines: [`X-API-Key: ${key}`],
    tier: null,
    secrets: [key],
  }));
  const valid = fc
    .tuple(account, fc.constantFrom(...PLACES))
    .map(([{ key, tier }, place]): Credential => ({ lines: place(key), tier, secrets: [key] }));
  const refused = fc
    .tuple(account, fc.constantFrom(...REFUSED_PLACES))
    .map(([{ key }, place]): Credential => ({ lines: place(key), tier: null, secrets: [key] }));
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(NOBODY) },
    { weight: 6, arbitrary: valid },
    { weight: 2, arbitrary: bad },
    { weight: 1, arbitrary: badField },
    { weight: 1, arbitrary: refused },
  );
}

/** Texts that look like keys, but are not valid ones. */
export function wrongKeys(accounts: readonly Account[]): fc.Arbitrary<string> {
  const key = fc.constantFrom(...accounts.map((account) => account.key));
  const at = fc.nat({ max: 52 });
  const character = fc.constantFrom(...KEY_CHARACTERS);
  const valid = new Set(accounts.map((account) => account.key));
  return fc
    .oneof(
      fc.tuple(key, at, character).map(([whole, place, c]) => splice(whole, place, 1, c)),
      fc.tuple(key, at, character).map(([whole, place, c]) => splice(whole, place, 0, c)),
      fc.tuple(key, at).map(([whole, place]) => whole.slice(0, place)),
      fc.tuple(key, at).map(([whole, place]) => whole.slice(place)),
      fc.tuple(key, key).map(([one, two]) => one + two),
      key.map((whole) => whole.toLowerCase()),
      fc.uint8Array({ minLength: 32, maxLength: 32 }).map((secret) => createKey(secret)),
    )
    .filter((text) => text !== "" && !valid.has(text));
}

const PLACES: readonly ((key: string) => string[])[] = [
  (key) => [`Authorization: Bearer ${key}`],
  (key) => [`authorization:bEaReR \t ${key}`],
  (key) => [`X-Api-Key: ${key}`],
  (key) => ["Authorization: Basic dXNlcjpwYXNz", `x-api-key:   ${key}  `],
  (key) => [basic(`:${key}`)],
  (key) => [basic(`${key}:`)],
  (key) => [`Authorization: Bearer ${key}`, "x-api-key: nonsense"],
];

const REFUSED_PLACES: readonly ((key: string) => string[])[] = [
  (key) => [`Authorization: Bearer ${key}`, `Authorization: Bearer ${key}`],
  (key) => [`Authorization: ${key}`],
  (key) => [`x-api-key: ${key}`, `x-api-key: ${key}`],
  (key) => [`Authorization: Bearer ${key}, Bearer ${key}`],
  (key) => ["Authorization: Bearer", `x-api-key: ${key}`],
  (key) => [`x-api-key: "${key}"`],
  (key) => [basic(`${key}:x`)],
  (key) => [basic(key)],
  (key) => [`Authorization: Basic ${key}`],
];

function basic(userPass: string): string {
  return `Authorization: Basic ${Buffer.from(userPass).toString("base64")}`;
}

const splice = (text: string, at: number, count: number, inserted: string): string =>
  text.slice(0, at) + inserted + text.slice(at + count);
