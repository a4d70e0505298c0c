/**
 * A store whose log is signed, and what somebody can do to it who can write to the store but has no key
 * to sign with.
 */
import { rollBack } from "../../src/desk/rollback.ts";
import { newKeyPair, parseSigningKey, type SigningKey } from "../../src/snapshot/signing-key.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import type { LogKeys } from "../../src/snapshot/signed-log.ts";
import { signatureOfEntry } from "../../src/snapshot/entry-signature.ts";
import type { MemoryStore } from "../../src/store/memory-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { publicationKey, signatureKey } from "../../src/store/paths.ts";
import { replace } from "../cli/signed.ts";
import { copyOf, publishSession, SESSION, sessionsMs, TestClock } from "./fixture.ts";
import { MemoryStore as EmptyStore } from "../../src/store/memory-store.ts";

export const newKey = (): SigningKey => parseSigningKey(newKeyPair().privatePem, "a new key");
/** The operator's key, one of another operator, and the attacker's. */
export const [OPERATOR, OTHER] = [newKey(), newKey()];
export const signedBy = (signingKey: SigningKey | null): LogKeys => ({
  signingKey,
  verifyKeys: null,
});

/** The snapshots of the three entries, and their sessions. */
export const SNAPSHOTS = ["2026-11-21T00Z/r1", "2026-11-21T00Z/r2", "2026-11-21T12Z/r1"] as const;
export const HEAD = SNAPSHOTS[2];
/** When the last entry is published. */
export const CLOCK_MS = new TestClock().ms + sessionsMs(1);

/** Publishes a session, a revision and the next session, signed with the key. */
export async function publishThree(key: SigningKey | null, usd = 11): Promise<MemoryStore> {
  const store = new EmptyStore();
  const clock = new TestClock();
  const keys = signedBy(key);
  await publishSession(store, clock, SESSION, { first: true, usd, keys });
  await publishSession(store, clock, SESSION, { usd: usd + 1, revise: "Restated", keys });
  clock.ms = CLOCK_MS;
  await publishSession(store, clock, SESSION + 1, { usd: usd + 2, keys });
  return store;
}

let published: Promise<MemoryStore> | undefined;

/** A copy of the log that the operator signed; it is published once per test file. */
export async function signedStore(): Promise<MemoryStore> {
  published ??= publishThree(OPERATOR);
  return copyOf(await published);
}

/** Makes the first snapshot the head again. */
export const rollBackTo = (
  store: ObjectStore,
  snapshot: string,
  key: SigningKey | null = null,
): Promise<unknown> =>
  rollBack(store, snapshot, "As it was", { now: () => CLOCK_MS }, signedBy(key));

const textOf = async (store: ObjectStore, key: string): Promise<string> =>
  String(await store.get(key));

/** Changes the text of an entry; its signature stays. */
async function changeEntry(
  store: ObjectStore,
  number: number,
  from: string,
  to: string,
): Promise<void> {
  const key = publicationKey(number);
  const text = await textOf(store, key);
  if (!text.includes(from)) throw new Error(`${key} has no ${from}`);
  await replace(store, key, Buffer.from(text.replace(from, to)));
}

/** Makes the store's log that of another store, with all that it names. */
async function replaceAll(store: ObjectStore, by: ObjectStore): Promise<void> {
  const keys: string[] = [];
  for await (const { key } of store.list("")) keys.push(key);
  for (const key of keys) await store.delete(key);
  for await (const { key } of by.list("")) {
    await store.create(key, (await by.get(key)) as Buffer, "");
  }
}

/** A change of the store, and what is said of it. */
export interface Attack {
  readonly name: string;
  readonly apply: (store: ObjectStore) => Promise<void>;
  /** What a proxy says that runs; null: what it serves is proven already, and it reads nothing of this. */
  readonly running: RegExp | null;
  /** What a proxy says that starts again with its state. */
  readonly restarted: RegExp;
  /**
   * What `check` says that remembers the log, asking a proxy that trusts its store; null: that proxy
   * cannot load it either, and shows the log until there.
   */
  readonly checked: RegExp | null;
}

const UNSIGNED_4 = /0000000004\.sig is missing: entry 4 is unsigned, expected a signature by/;
const UNFIT_4 = /0000000004\.sig does not fit entry 4: expected a signature by/;
const REWRITTEN =
  /entry 3 of the log has the SHA-256 [0-9a-f]{64}, and the one that was served before has [0-9a-f]{64}/;
const CHANGED = /0000000003\.json is not the entry that was read before: is it another store\?/;
const SEEN = /Entry 3 of the log has the SHA-256 [0-9a-f]{64}, and an earlier check has seen/;

export const ATTACKS: readonly Attack[] = [
  {
    name: "an older head offered as new",
    apply: async (store) => {
      await rollBackTo(store, SNAPSHOTS[0]);
    },
    running: UNSIGNED_4,
    restarted: UNSIGNED_4,
    checked: /Entry 4 of the log is unsigned: expected a signature by/,
  },
  {
    name: "an older head with the attacker's signature",
    apply: async (store) => {
      await rollBackTo(store, SNAPSHOTS[0], OTHER);
    },
    running: UNFIT_4,
    restarted: UNFIT_4,
    checked: /signature of entry 4 \(.*\) does not fit it: expected a signature by/,
  },
  {
    name: "an older head with the signature of another entry",
    apply: async (store) => {
      await rollBackTo(store, SNAPSHOTS[0]);
      await store.create(signatureKey(4), (await store.get(signatureKey(3))) as Buffer, "");
    },
    running: UNFIT_4,
    restarted: UNFIT_4,
    checked: /signature of entry 4 \(.*\) does not fit it/,
  },
  {
    name: "an older head with a signature of another store by the same key",
    apply: async (store) => {
      await rollBackTo(store, SNAPSHOTS[0]);
      const elsewhere = await publishThree(OPERATOR, 21);
      await rollBackTo(elsewhere, SNAPSHOTS[0], OPERATOR);
      await store.create(signatureKey(4), (await elsewhere.get(signatureKey(4))) as Buffer, "");
    },
    running: UNFIT_4,
    restarted: UNFIT_4,
    checked: /signature of entry 4 \(.*\) does not fit it/,
  },
  {
    name: "an entry of another store, signed by the same key",
    apply: async (store) => {
      const elsewhere = await publishThree(OPERATOR, 21);
      await rollBackTo(elsewhere, SNAPSHOTS[0], OPERATOR);
      for (const key of [publicationKey(4), signatureKey(4)]) {
        await store.create(key, (await elsewhere.get(key)) as Buffer, "");
      }
    },
    running: /0000000004\.json does not follow the log before it: its previous is [0-9a-f]{64}/,
    restarted: /0000000004\.json does not follow the log before it: its previous is [0-9a-f]{64}/,
    checked: null,
  },
  {
    name: "an old entry changed",
    apply: (store) => changeEntry(store, 2, "Restated", "Restored"),
    running: /0000000002\.json is not the entry that was read before/,
    restarted: /0000000003\.json does not follow the log before it/,
    checked: /Entry 3 of the log \(.*\) does not follow the log before it/,
  },
  {
    name: "the newest entry changed",
    apply: (store) => changeEntry(store, 3, '"corrections":0', '"corrections":1'),
    running: CHANGED,
    restarted: REWRITTEN,
    checked: /signature of entry 3 \(.*\) does not fit it/,
  },
  {
    name: "the newest entry cut off",
    apply: async (store) => {
      await store.delete(publicationKey(3));
      await store.delete(signatureKey(3));
    },
    running: /0000000003\.json is gone/,
    restarted: /the log ends with entry 2, and entry 3 was served before: the log was cut off/,
    checked:
      /The log ends with entry 2, and an earlier check has seen entry 3: the log was cut off/,
  },
  {
    name: "the newest signature taken away",
    apply: (store) => store.delete(signatureKey(3)),
    running: null,
    restarted: /0000000003\.sig is missing: entry 3 is unsigned/,
    checked: /Entry 3 of the log is unsigned/,
  },
  {
    name: "an entry taken out of the middle",
    apply: (store) => store.delete(publicationKey(2)),
    running: /0000000002\.json is gone/,
    restarted: /the log ends with entry 1, and entry 3 was served before/,
    checked: /GET .*\/log\/2 answers 404 not_published/,
  },
  {
    name: "the whole log replaced by an unsigned one",
    apply: async (store) => replaceAll(store, await publishThree(null, 31)),
    running: CHANGED,
    restarted: REWRITTEN,
    checked: /Entry 3 of the log is unsigned/,
  },
  {
    name: "the whole log replaced by that of another store of the same operator",
    apply: async (store) => replaceAll(store, await publishThree(OPERATOR, 31)),
    running: CHANGED,
    restarted: REWRITTEN,
    checked: SEEN,
  },
  {
    name: "the whole log replaced by one that the attacker signed: his key in the place of the operator's",
    apply: async (store) => replaceAll(store, await publishThree(OTHER, 31)),
    running: CHANGED,
    restarted: REWRITTEN,
    checked: /signature of entry 3 \(.*\) does not fit it/,
  },
  {
    name: "an entry of 10 MB",
    apply: (store) =>
      store.create(publicationKey(4), Buffer.alloc(10_000_000, " "), "").then(() => undefined),
    running: /0000000004\.json has 10000000 bytes, expected 60000 or less/,
    restarted: /0000000004\.json has 10000000 bytes, expected 60000 or less/,
    checked: null,
  },
  {
    name: "a number beyond 2^53",
    apply: async (store) => {
      const text = (await textOf(store, publicationKey(3))).replace(
        '"number":3',
        '"number":9007199254740993',
      );
      await store.create(publicationKey(4), Buffer.from(text), "");
    },
    running: /0000000004\.json is not an entry of the log/,
    restarted: /0000000004\.json is not an entry of the log/,
    checked: null,
  },
  {
    name: "an entry that follows itself",
    apply: async (store) => {
      const text = (await textOf(store, publicationKey(3))).replace('"number":3', '"number":4');
      const circle = text.replace(/"previous":"[0-9a-f]{64}"/, `"previous":"${sha256Hex(text)}"`);
      await store.create(publicationKey(4), Buffer.from(circle), "");
      await store.create(signatureKey(4), signatureOfEntry(sha256Hex(circle), OTHER), "");
    },
    running: /0000000004\.json does not follow the log before it/,
    restarted: /0000000004\.json does not follow the log before it/,
    checked: /Entry 4 of the log \(.*\) does not follow the log before it/,
  },
];
