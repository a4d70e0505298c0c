/** A store whose log is signed. */
import { rollBack } from "../../src/desk/rollback.ts";
import { newKeyPair, parseSigningKey, type SigningKey } from "../../src/snapshot/signing-key.ts";
import type { LogKeys } from "../../src/snapshot/log/sign.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { copyOf, publishSession, SESSION, sessionsMs, TestClock } from "./fixture.ts";

export const newKey = (): SigningKey => parseSigningKey(newKeyPair().privatePem, "a new key");
/** The operator's key, and the one before it, which signed entry 1; an attacker has found that one. */
export const [OPERATOR, RETIRED] = [newKey(), newKey()];
export const signedBy = (signingKey: SigningKey | null): LogKeys => ({
  signingKey,
  verifyKeys: null,
});

/** The snapshots of the three entries, and their sessions. */
export const SNAPSHOTS = ["2026-11-21T00Z/r1", "2026-11-21T00Z/r2", "2026-11-21T12Z/r1"] as const;
export const HEAD = SNAPSHOTS[2];
/** When the last entry is published. */
export const CLOCK_MS = new TestClock().ms + sessionsMs(1);

/** Publishes a session, a revision and the next session, signed with the key; the first one with `first`. */
export async function publishThree(
  key: SigningKey | null,
  usd = 11,
  first = key,
): Promise<MemoryStore> {
  const store = new MemoryStore();
  const clock = new TestClock();
  const keys = signedBy(key);
  await publishSession(store, clock, SESSION, { first: true, usd, keys: signedBy(first) });
  await publishSession(store, clock, SESSION, { usd: usd + 1, revise: "Restated", keys });
  clock.ms = CLOCK_MS;
  await publishSession(store, clock, SESSION + 1, { usd: usd + 2, keys });
  return store;
}

let published: Promise<MemoryStore> | undefined;

/** A copy of the log that the operator signed; it is published once per test file. */
export async function signedStore(): Promise<MemoryStore> {
  published ??= publishThree(OPERATOR, 11, RETIRED);
  return copyOf(await published);
}

/** Makes the first snapshot the head again. */
export const rollBackTo = (
  store: ObjectStore,
  snapshot: string,
  key: SigningKey | null = null,
): Promise<unknown> =>
  rollBack(store, snapshot, "As it was", { now: () => CLOCK_MS }, signedBy(key));
