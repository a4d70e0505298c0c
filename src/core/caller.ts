/** Who sent a request: finds the key in the header fields and asks the accounts about it. */
import { NO_HOLDER, type Accounts, type KeyVerdict } from "../ports/accounts.ts";
import { KEY_PREFIX, LINK_PREFIX } from "../lib/secrets.ts";
import { cut } from "../lib/text.ts";
import { shownText } from "../public/query.ts";
import { KEYLESS } from "../market/tier.ts";
import { countFields, fieldIn, type Ask } from "./ask.ts";
import type { Reader } from "./outcome.ts";
import { clientAddress, type AddressGroup } from "./client-address.ts";

/** A caller, admitted or refused: the problem has the refusal's code. Without a key account and keyId are null. */
export type Caller = KeyVerdict;

export type AdmittedCaller = Caller & Reader;

export const isAdmitted = (caller: Caller): caller is AdmittedCaller => caller.refusal === null;

/** Decodes Base64 (RFC 4648, 4), padded or not. A single last character, which is no whole byte, is left out. */
function decodedBasic(text: string): string {
  const [, digits = ""] = /^([a-z0-9+/]*)={0,2}$/i.exec(text) ?? [];
  return atob(digits.length % 4 === 1 ? digits.slice(0, -1) : digits);
}
const NO_KEY_AT_ALL = "";

/** The scheme of a field's value in lower case, and what follows it (RFC 9110, 11.4). */
function credentialsIn(value: string): [scheme: string, rest: string] {
  const end = value.search(/[ \t]/);
  if (end === -1) return [value.toLowerCase(), ""];
  return [value.slice(0, end).toLowerCase(), value.slice(end).trimStart()];
}

/**
 * The key that the request carries, or null. Authorization: Bearer (RFC 6750, 2.1; the scheme in any
 * case: RFC 9110, 11.4) takes precedence over x-api-key. Basic does as well, except if it holds nothing
 * like a key: programs add it by themselves. Other schemes are ignored, and an empty field beside x-api-key. A key
 * without a scheme, two Authorization fields, an empty one alone, a Bearer value of more than one word, and Basic without
 * a key all count as an invalid key: the caller tried to send a key and must not silently get the free slice.
 */
function readKey({ headers, rawHeaders }: Ask): string | null {
  const authorization = fieldIn(headers, "authorization");
  // Repeated x-api-key fields are joined with commas, and no key contains a comma.
  const apiKey = fieldIn(headers, "x-api-key");
  if (authorization !== undefined) {
    if (countFields(rawHeaders, "authorization") > 1) return NO_KEY_AT_ALL;
    if (authorization === "") return apiKey ?? NO_KEY_AT_ALL;
    const [scheme, sent] = credentialsIn(authorization);
    if (scheme.replace(OPENING, "") === "bearer") return sent;
    if (authorization.startsWith(KEY_PREFIX)) return NO_KEY_AT_ALL;
    if (scheme === "basic") {
      const decoded = decodedBasic(sent);
      const holdsKey = sent.includes(KEY_PREFIX) || decoded.includes(KEY_PREFIX);
      if (apiKey === undefined || holdsKey) return keyIn(decoded);
    }
  }
  return apiKey ?? null;
}

/**
 * Where the request holds a key that is not read, if it sends no other key: `field x-key`, `cookie key`; else
 * undefined. The value of the field, or of the cookie, begins with a key, perhaps after a scheme. Such a caller also
 * tried to send a key. Programs add Basic by themselves, so that without a key in it nobody has tried.
 */
export function misplacedIn(ask: Ask): string | undefined {
  const read = readKey(ask) ?? "";
  if (read.startsWith(KEY_PREFIX)) return undefined;
  if (read !== "" && !isBasic(fieldIn(ask.headers, "authorization"))) return undefined;
  const { rawHeaders } = ask;
  for (let at = 1; at < rawHeaders.length; at += 2) {
    const value = rawHeaders[at] as string;
    if (!value.includes(KEY_PREFIX)) continue;
    const name = (rawHeaders[at - 1] as string).toLowerCase();
    if (beginsWithKey(value)) return `field ${shownName(name)}`;
    if (name === "cookie") {
      const cookie = pairsIn(value, ";").find(holdsKey);
      if (cookie !== undefined) return `cookie ${shownName(cookie.name)}`.trim();
    }
    if (name === "authorization" && pairsIn(value, /[;,:]/).some(holdsKey)) return `field ${name}`;
  }
  return undefined;
}

/** The surroundings of the key that the request carries, in words; null: nothing, or no key is read. */
export function wrappingOf(ask: Ask): string | null {
  const read = readKey(ask) ?? "";
  const at = read.indexOf(KEY_PREFIX);
  if (at === -1) return null;
  const before = read.slice(0, at);
  if (/^[a-z]+[\s:]/i.test(before)) {
    return fieldIn(ask.headers, "authorization") === undefined
      ? "The field x-api-key holds a scheme before the key"
      : "The scheme stands twice before the key";
  }
  const isWrapped = before === "" ? CLOSING.test(read) : before.replace(OPENING, "") === "";
  return isWrapped ? "The key stands in quotes or brackets" : null;
}

/** Quotes and brackets before and after a key. Header fields have the bytes of typographic quotes as Latin-1. */
const OPENING = /^(?:["'`<([{\u2018-\u201f\u00ab]|\u00e2\u0080[\u0098-\u009f]|\u00c2\u00ab)+/;
const CLOSING = /(?:["'`>)\]}\u2018-\u201f\u00bb]|\u00e2\u0080[\u0098-\u009f]|\u00c2\u00bb)$/;

const isBasic = (authorization = ""): boolean => credentialsIn(authorization)[0] === "basic";

const NAME_CHARACTERS = 60;
const shownName = (name: string): string => shownText(cut(name, NAME_CHARACTERS));

/** Whether a key, which may stand in quotes or brackets, is the beginning of the value or what follows its scheme. */
function beginsWithKey(value: string): boolean {
  const [scheme, rest] = credentialsIn(value);
  return isKey(value) || (TOKEN.test(scheme.replace(OPENING, "")) && isKey(rest));
}

const isKey = (text: string): boolean => text.replace(OPENING, "").startsWith(KEY_PREFIX);

/** The form of a scheme (RFC 9110, 5.6.2). */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

interface Pair {
  readonly name: string;
  readonly value: string;
}

/** The first pairs of a list: cookies, or the parameters of a scheme. One without a name is a value. */
const pairsIn = (list: string, separator: string | RegExp): Pair[] =>
  list.split(separator, PAIRS_MAX).map((pair) => {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, equals));
    return { name: name.trim(), value: pair.slice(equals + 1).trim() };
  });

const holdsKey = ({ value }: Pair): boolean => beginsWithKey(value);

const PAIRS_MAX = 32;

/** The key to be judged; null: the request has none. */
const presentedKey = (ask: Ask): string | null =>
  readKey(ask) ?? (misplacedIn(ask) === undefined ? null : NO_KEY_AT_ALL);

/** The key in Basic's `user:password` (RFC 7617, 2): the password or, if it is empty, the user. */
function keyIn(userPass: string): string {
  const colon = userPass.indexOf(":");
  if (colon === -1) return NO_KEY_AT_ALL;
  return userPass.slice(colon + 1) || userPass.slice(0, colon);
}

/**
 * Finds the caller. If the answer must not wait for the state (`asksState`), a key that this process has
 * not seen counts as no key.
 */
export function identify(
  ask: Ask,
  trustedHops: number,
  accounts: Accounts,
  nowMs: number,
  asksState: boolean,
): Caller | Promise<Caller> {
  const { verdicts, counts } = accounts;
  const noted = (caller: Caller): Caller => {
    if (caller.refusal === null && caller.keyId !== null) counts.noteUse(caller.keyId, nowMs);
    return caller;
  };
  const key = presentedKey(ask);
  if (key !== null && asksState) {
    const verdict = verdicts.authenticate(key);
    return verdict instanceof Promise ? verdict.then(noted) : noted(verdict);
  }
  const known = key === null ? null : verdicts.known(key);
  return known ?? callerAt(addressOf(ask, trustedHops), accounts, nowMs);
}

/** The holder of the link with this token; refused as `invalid_key` if there is none. */
export const identifyLink = (token: string, { verdicts }: Accounts): Caller | Promise<Caller> =>
  verdicts.authenticate(token, LINK_PREFIX);

/** The caller without a key at this address. */
export function callerAt(address: AddressGroup, accounts: Accounts, nowMs: number): AdmittedCaller {
  const subject = accounts.addressSubject(address, nowMs);
  return { ...NO_HOLDER, tier: KEYLESS, subject, refusal: null };
}

/** The address group that a request without a key is counted for. */
export const addressOf = (
  { peer, headers }: Pick<Ask, "peer" | "headers">,
  trustedHops: number,
): AddressGroup => clientAddress(peer, fieldIn(headers, "x-forwarded-for"), trustedHops);
