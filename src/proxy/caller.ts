/** Who sent a request: which header fields count as a key, and what the key is worth. */
import type { IncomingMessage } from "node:http";
import type { Gatekeeper, KeyVerdict, MaybePromise, Subject } from "../state/gatekeeper.ts";
import { KEY_PREFIX } from "../state/keys.ts";
import { TIERS, type Tier } from "../market/tier.ts";
import { clientAddress, type AddressGroup } from "./client-address.ts";

/** A caller whose calls are counted, or whose key is refused. */
export interface Caller {
  /** Null without a key. */
  readonly account: string | null;
  /** Null where a refused key tells of no tier. */
  readonly tier: Tier | null;
  /** Whom calls are counted for; null where the key names no account. */
  readonly subject: Subject | null;
  /** Null for a caller let in. */
  readonly refusal: Refusal | null;
}

/** Why a key is refused; also the code of the problem. */
export type Refusal = Extract<KeyVerdict, { ok: false }>["code"];

/** A caller let in. */
export type AdmittedCaller = Caller & { readonly tier: Tier; readonly subject: Subject };

/** Whether the caller is let in, with a key or without. */
export const isAdmitted = (caller: Caller): caller is AdmittedCaller => caller.refusal === null;

const BEARER = /^bearer(?:[ \t]+(.*))?$/i;
const USUAL_PREFIX = `Bearer ${KEY_PREFIX}`;
const NO_KEY_AT_ALL = "";

/**
 * The key as presented, or null where none is. Authorization: Bearer (RFC 6750, 2.1; RFC 9110,
 * 11.4: the scheme in any case) goes before x-api-key; another scheme is ignored. A key without a
 * scheme, or two Authorization fields, are a key that is not valid rather than none: the caller
 * meant to send one and must not silently get the free slice.
 */
function presentedKey(request: IncomingMessage): string | null {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    if (countFields(request.rawHeaders, "authorization") > 1) return NO_KEY_AT_ALL;
    if (authorization.startsWith(USUAL_PREFIX)) {
      return authorization.slice(USUAL_PREFIX.length - KEY_PREFIX.length);
    }
    const bearer = BEARER.exec(authorization);
    if (bearer !== null) return bearer[1] ?? NO_KEY_AT_ALL;
    if (authorization.startsWith(KEY_PREFIX)) return NO_KEY_AT_ALL;
  }
  // Repeated x-api-key fields arrive joined by commas, which is no key.
  return (request.headers["x-api-key"] as string | undefined) ?? null;
}

/** Finds out who the caller is; waits only where the state must be asked. */
export function identify(
  request: IncomingMessage,
  trustedHops: number,
  gatekeeper: Gatekeeper,
  nowMs: number,
): MaybePromise<Caller> {
  const key = presentedKey(request);
  if (key !== null) {
    const verdict = gatekeeper.authenticate(key);
    return verdict instanceof Promise ? verdict.then(callerOf) : callerOf(verdict);
  }
  return callerAt(addressOf(request, trustedHops), gatekeeper, nowMs);
}

/**
 * The same without asking the state, for answers that need no key: who sends one that this process
 * has not seen counts as somebody without.
 */
export function identifyAtOnce(
  request: IncomingMessage,
  trustedHops: number,
  gatekeeper: Gatekeeper,
  nowMs: number,
): Caller {
  const key = presentedKey(request);
  const verdict = key === null ? null : gatekeeper.knownVerdict(key);
  if (verdict !== null) return callerOf(verdict);
  return callerAt(addressOf(request, trustedHops), gatekeeper, nowMs);
}

/** Who sends no key, known by the address. */
export function callerAt(
  address: AddressGroup,
  gatekeeper: Gatekeeper,
  nowMs: number,
): AdmittedCaller {
  const subject = gatekeeper.addressSubject(address, nowMs);
  return { account: null, tier: TIERS.free, subject, refusal: null };
}

function callerOf(verdict: KeyVerdict): Caller {
  const refusal = verdict.ok ? null : verdict.code;
  if (!("account" in verdict)) return { account: null, tier: null, subject: null, refusal };
  const { account, tier, subject } = verdict;
  return { account, tier: TIERS[tier], subject, refusal };
}

/** The address group a request is counted for when it carries no key. */
export const addressOf = (request: IncomingMessage, trustedHops: number): AddressGroup =>
  clientAddress(
    request.socket.remoteAddress,
    request.headers["x-forwarded-for"] as string | undefined,
    trustedHops,
  );

/** How many fields have this name. Of some Node keeps the first only, so that the raw ones tell. */
export function countFields(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const field = rawHeaders[at] as string;
    if (field.length === name.length && field.toLowerCase() === name) count += 1;
  }
  return count;
}
