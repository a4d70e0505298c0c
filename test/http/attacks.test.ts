/**
 * Somebody who can write to the store but has no key: each attack is noticed by a proxy that runs, by one
 * that starts again with its state, and by `check`, with the words that say what; and no proxy with
 * --verify-key serves what was not signed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { check, type CheckRequest } from "../../src/check/check.ts";
import type { Step } from "../../src/check/step.ts";
import { DamageError } from "../../src/lib/errors.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { eventually, startTestProxy, TestClock, type TestProxy } from "./fixture.ts";
import { ATTACKS, CLOCK_MS, HEAD, OPERATOR, signedStore } from "./signed-log.ts";

const PRICES = "/api/public/v1/prices";
const verifyKeys = [OPERATOR.verifyKey];

let folder: string;
const proxies: TestProxy[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-attacks-"));
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

/** A proxy with the operator's public key, or without any; both kinds have states of their own. */
async function start(store: ObjectStore, isVerifying: boolean): Promise<TestProxy> {
  const state = join(folder, isVerifying ? "state" : "trusting");
  const clock = new TestClock(CLOCK_MS);
  const options = isVerifying ? { verifyKeys } : {};
  const proxy = await startTestProxy({ store, state, clock, ...options });
  proxies.push(proxy);
  return proxy;
}

const snapshot = async (proxy: TestProxy): Promise<unknown> =>
  (await proxy.get(PRICES)).headers["x-snapshot"];

/** Waits until the proxy has logged this as an error. */
const says = (proxy: TestProxy, words: RegExp): Promise<void> =>
  eventually(() =>
    proxy.logged.some((line) => {
      const { level, err } = JSON.parse(line);
      return level === 50 && words.test(err?.message ?? "");
    }),
  );

const checked = async (request: Partial<CheckRequest>): Promise<Step[]> => {
  const steps: Step[] = [];
  const whole = { url: "", key: null, verifyKeys, remember: join(folder, "seen"), ...request };
  await check(whole, (step) => steps.push(step));
  return steps;
};

describe.each(ATTACKS)("$name", ({ apply, running, restarted, checked: told }) => {
  test("a running proxy keeps the signed head, and the next one has it or nothing", async () => {
    const store = await signedStore();
    const proxy = await start(store, true);
    expect(await snapshot(proxy)).toBe(HEAD);
    await apply(store);
    if (running !== null) {
      await says(proxy, running);
      expect((await proxy.get("/readyz")).json).toMatchObject({ store: "damaged", snapshot: HEAD });
    }
    expect(await snapshot(proxy)).toBe(HEAD);
    await proxies.pop()?.close();
    const again = await start(store, true);
    await says(again, restarted);
    expect([HEAD, undefined]).toContain(await snapshot(again));
    // A log whose end alone is refused is served up to there; any other is refused as a whole.
    const { status } = await again.get("/readyz");
    expect(status).toBe((await snapshot(again)) === HEAD ? 200 : 503);
  });

  test("check says it", async () => {
    const store = await signedStore();
    const { url } = await start(store, false);
    await checked({ url });
    await proxies.pop()?.close();
    await apply(store);
    const trusting = await start(store, false);
    if (told === null) {
      expect((await checked({ url: trusting.url })).every(({ isProven }) => isProven)).toBe(true);
      return;
    }
    const failure = await checked({ url: trusting.url }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(DamageError);
    expect((failure as DamageError).message).toMatch(told);
  });
});
