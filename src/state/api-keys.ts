/**
 * API keys: `cbk_`, 43 base62 characters (256 random bits), 6 base62 characters (CRC-32 of the
 * rest). The check reveals a mistyped key without asking the state. The state holds a key's SHA-256
 * and its first 12 characters, the KEYID; never the key. The tokens of links are the same with `lnk_`
 * and without a check: programs copy them.
 */
import { hash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import { InputError } from "../lib/errors.ts";
import { KEY_PREFIX, LINK_PREFIX } from "../lib/secrets.ts";

const SECRET_CHARACTERS = 43;
const CHECK_CHARACTERS = 6;
const KEY_ID_CHARACTERS = 12;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const KEY = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${SECRET_CHARACTERS + CHECK_CHARACTERS}}$`);
const LINK = new RegExp(`^${LINK_PREFIX}[0-9A-Za-z]{${SECRET_CHARACTERS}}$`);
const ID_END = new RegExp(`^[0-9A-Za-z]{${KEY_ID_CHARACTERS - KEY_PREFIX.length}}$`);

/** A new key. `secret` (32 bytes) is random unless a test gives it. */
export function createKey(secret: Uint8Array = randomBytes(32)): string {
  const body = KEY_PREFIX + secretText(secret);
  return body + checkOf(body);
}

export const createLinkToken = (): string => LINK_PREFIX + secretText(randomBytes(32));

/** Whether a text of any length has the form of a key and a correct check. */
export function looksLikeKey(text: string): boolean {
  return KEY.test(text) && text.endsWith(checkOf(text.slice(0, -CHECK_CHARACTERS)));
}

/** Whether a text of any length has the form of a link's token. */
export const looksLikeLink = (text: string): boolean => LINK.test(text);

/** The part of a key, or of a link's token, that may be shown. */
export const keyIdOf = (key: string): string => key.slice(0, KEY_ID_CHARACTERS);

/**
 * Throws InputError if the text is not a KEYID, or the id of a link. A longer text may be a key, so no
 * message repeats it.
 */
export function requireKeyId(text: string, kind: "key" | "link" = "key"): void {
  const [start, name] = kind === "key" ? [KEY_PREFIX, "KEYID"] : [LINK_PREFIX, "LINKID"];
  if (text.startsWith(start) && ID_END.test(text.slice(start.length))) return;
  const expected = `expected a ${name}, the first ${KEY_ID_CHARACTERS} characters of a ${kind} (see ${kind}s ls)`;
  throw new InputError(
    text.length > KEY_ID_CHARACTERS
      ? `A text of ${text.length} characters given as a ${name}: ${expected}`
      : `${kind === "key" ? "Key" : "Link"} ${quoted(text)}: ${expected}`,
  );
}

/** A name in quotes, for messages. If it is a key by mistake, only its KEYID is shown. */
export const quoted = (text: string): string =>
  looksLikeKey(text) || looksLikeLink(text) ? `"${keyIdOf(text)}…"` : JSON.stringify(text);

/** SHA-256 (FIPS 180-4) of a key in lower-case hex. The state stores and finds the key by it. */
export const keySha256 = (key: string): string => hash("sha256", key);

/** Base 62 in a fixed width, most significant digit first; digits 0-9, A-Z, a-z. */
export function toBase62(value: bigint, width: number): string {
  let rest = value;
  let text = "";
  for (let place = 0; place < width; place++) {
    text = (DIGITS[Number(rest % 62n)] as string) + text;
    rest /= 62n;
  }
  return text;
}

/** 256 bits as base 62. */
const secretText = (secret: Uint8Array): string =>
  toBase62(BigInt(`0x${Buffer.from(secret).toString("hex")}`), SECRET_CHARACTERS);

const checkOf = (body: string): string => toBase62(BigInt(crc32(body)), CHECK_CHARACTERS);
