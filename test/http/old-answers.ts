/** Asks a proxy for old files, and compares the answers with the answers of that time. */
import { expect } from "vitest";
import type { KeyTierName } from "../../src/market/tier.ts";
import type { ProblemCode } from "../../src/public/problems.ts";
import type { CallOptions, Received } from "./client.ts";
import type { TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";
import { pathsOf, type Vintage } from "./vintage-market.ts";

export const FOREVER = "private, max-age=31536000, immutable";
const AT_MOST_A_MINUTE = /^private, max-age=([0-9]|[1-5][0-9]|60)$/;

export const byNumber = ({ number }: Vintage): string => `publication=${number}`;
export const byInstant = (ms: number): string => `as_of=${new Date(ms).toISOString()}`;
export const asked = (path: string, parameter: string): string =>
  `${path}${path.includes("?") ? "&" : "?"}${parameter}`;

export const ask = (
  proxy: TestProxy,
  tier: KeyTierName,
  path: string,
  parameter: string,
  options: Omit<CallOptions, "key"> = {},
): Promise<Received> => proxy.get(asked(path, parameter), { key: proxy[tier], ...options });

/** The fields that say what the answer is; the others depend on when it was sent. */
export function lasting({ headers }: Pick<Received, "headers">): object {
  const {
    date: _,
    "cache-control": __,
    "x-ratelimit-remaining": ___,
    "x-ratelimit-reset": ____,
    ...others
  } = headers;
  return others;
}

/** Expects the answer that was served when the entry was the head. */
function expectServed(then: Received, now: Received, what: string, number: number): void {
  if (now.status === 308) {
    // To the id of the snapshot, from one that the contract had before or got later.
    const { location } = then.headers;
    expect([what, now.headers.location?.split("?")[0]]).toEqual([
      what,
      location ?? expect.anything(),
    ]);
    if (location === undefined) expect([what, then.json.code]).toEqual([what, "unknown_contract"]);
    return;
  }
  expect([what, now.status, now.json?.code]).toEqual([what, then.status, then.json?.code]);
  if (then.status !== 200) return;
  expect([what, now.raw.equals(then.raw)]).toEqual([what, true]);
  expect([what, lasting(now)]).toEqual([what, lasting(then)]);
  expect([what, now.headers["x-publication"]]).toEqual([what, String(number)]);
}

/**
 * Expects every file of the tier as it was then. `isAsked` chooses files by their place in `pathsOf`;
 * `isSettled`: the same request gets the same answer for ever.
 */
export async function expectAll(
  proxy: TestProxy,
  tier: KeyTierName,
  vintage: Vintage,
  parameter: string,
  isAsked: (index: number) => boolean = () => true,
  isSettled = true,
): Promise<void> {
  for (const [index, path] of pathsOf(tier).entries()) {
    if (!isAsked(index)) continue;
    const now = await ask(proxy, tier, path, parameter);
    const what = `${tier} ${asked(path, parameter)}`;
    expectServed(vintage.answers[tier].get(path) as Received, now, what, vintage.number);
    if (now.status !== 200) continue;
    const cacheControl = isSettled ? FOREVER : expect.stringMatching(AT_MOST_A_MINUTE);
    expect([what, now.headers["cache-control"]]).toEqual([what, cacheControl]);
  }
}

/** Expects the same refusal for every file of the tier. */
export async function expectAllRefused(
  proxy: TestProxy,
  tier: KeyTierName,
  parameter: string,
  code: ProblemCode,
): Promise<void> {
  for (const path of pathsOf(tier)) {
    const key = { key: proxy[tier] };
    const { headers } = await expectCode(proxy, asked(path, parameter), key, code);
    expect(headers["x-publication"]).toBeUndefined();
  }
}
