/**
 * What somebody can do to a signed store who can write to it and has a key that the operator has replaced,
 * but not the one that counts; and what each observer says of it.
 */
import { signedEntry } from "../../src/snapshot/log/sign.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { identityOf, type Manifest } from "../../src/snapshot/manifest.ts";
import { mustRead } from "../../src/snapshot/log/walk.ts";
import { renderSums, rootsOf } from "../../src/snapshot/sums.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { FILES, publicationKey } from "../../src/store/paths.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { putFile, replace, signatureIn, signedAs, unsigned } from "../cli/signed.ts";
import { copyOf, publishSession, SESSION, TestClock } from "./fixture.ts";
import {
  CLOCK_MS,
  HEAD,
  OPERATOR,
  publishThree,
  RETIRED,
  rollBackTo,
  signedBy,
  SNAPSHOTS,
} from "./signed-log.ts";

/** A change of the store, and the messages about it. */
export interface Attack {
  readonly name: string;
  readonly apply: (store: ObjectStore) => Promise<void>;
  /** What a proxy says that runs. */
  readonly running: RegExp;
  /** What a proxy says that starts again with its state. */
  readonly restarted: RegExp;
  /** The snapshot that it then serves; null: none. */
  readonly kept: string | null;
  /** What `snapshots verify` says that remembers the log. */
  readonly verified: RegExp;
  /** What `check` says that remembers the log, asking a proxy that trusts its store. */
  readonly checked: RegExp;
}

const bytesOf = async (store: ObjectStore, key: string): Promise<Buffer> => {
  const bytes = await store.get(key);
  if (bytes === null) throw new Error(`There is no ${key}`);
  return bytes;
};

/** Changes the text of an entry; its signature stays, unless that is what changes. */
async function changeEntry(
  store: ObjectStore,
  number: number,
  from: string,
  to: string,
): Promise<void> {
  const key = publicationKey(number);
  const text = String(await bytesOf(store, key));
  if (!text.includes(from)) throw new Error(`${key} has no ${from}`);
  await replace(store, key, Buffer.from(text.replace(from, to)));
}

/** Removes all that begins so. */
async function remove(store: ObjectStore, ...prefixes: readonly string[]): Promise<void> {
  for (const prefix of prefixes) {
    const keys: string[] = [];
    for await (const { key } of store.list(prefix)) keys.push(key);
    for (const key of keys) await store.delete(key);
  }
}

/** Copies the objects that begin so. Existing objects stay. */
async function graft(store: ObjectStore, from: ObjectStore, prefix = ""): Promise<void> {
  for await (const { key } of from.list(prefix)) {
    await store.create(key, await bytesOf(from, key));
  }
}

/** Replaces the store's log by another store's log, with all that it names. */
async function replaceAll(store: ObjectStore, by: ObjectStore): Promise<void> {
  await remove(store, "");
  await graft(store, by);
}

let another: Promise<MemoryStore> | undefined;

/** A copy of another store of the same operator. */
async function anotherStore(): Promise<MemoryStore> {
  another ??= publishThree(OPERATOR, 31);
  return copyOf(await another);
}

/** Appends a rollback to the first snapshot, with this signature; null: without one. */
async function appendUnsigned(store: ObjectStore, signature: string | null = null): Promise<void> {
  await rollBackTo(store, SNAPSHOTS[0]);
  const key = publicationKey(4);
  const text = String(await bytesOf(store, key));
  if (signature !== null) await replace(store, key, Buffer.from(signedAs(text, signature)));
}

const signatureOf = async (store: ObjectStore, number: number): Promise<string> =>
  signatureIn(String(await bytesOf(store, publicationKey(number))));

/**
 * Exchanges the files of the tiers free and pro in the first and the last snapshot, and makes that agree and
 * also the objects that name them: none, the manifests with SHA256SUMS, or the whole log.
 */
async function swapTiers(
  store: ObjectStore,
  agree: "nothing" | "manifests" | "log",
): Promise<void> {
  let previous: string | null = null;
  for (const [at, name] of SNAPSHOTS.entries()) {
    const folder = `sessions/${name}/`;
    const manifest = JSON.parse(String(await bytesOf(store, `${folder}manifest.json`))) as Manifest;
    const put = (path: string, bytes: Buffer): Promise<void> =>
      putFile(store, folder, manifest, path, bytes);
    for (const path of manifest.files.map((file) => file.path)) {
      const other = path.replace(/^free/, "pro");
      if (at === 1 || other === path) continue;
      const [free, pro] = [
        await plainBytes(store, folder + path),
        await plainBytes(store, folder + other),
      ];
      await put(path, pro);
      await put(other, free);
    }
    if (agree === "nothing" || (agree === "manifests" && at === 1)) continue;
    for (const tier of ["free", "pro"]) {
      await put(FILES.sums(tier), renderSums(tier, manifest.files));
    }
    manifest.identity = identityOf(manifest.files, manifest.ledger);
    const bytes = Buffer.from(JSON.stringify(manifest));
    await replace(store, `${folder}manifest.json`, bytes);
    if (agree === "manifests") continue;
    const key = publicationKey(at + 1);
    const entry = JSON.parse(String(await bytesOf(store, key)));
    const agreed = { manifest_sha256: sha256Hex(bytes), roots: rootsOf(manifest), previous };
    const text = `${JSON.stringify({ ...entry, ...agreed })}\n`;
    await replace(store, key, Buffer.from(text));
    previous = sha256Hex(text);
  }
}

const UNSIGNED = (number: number): RegExp =>
  new RegExp(`000000000${number}\\.json is unsigned: expected a signature by`);
const UNFIT = (number: number): RegExp =>
  new RegExp(
    `000000000${number}\\.json has a signature that does not fit it: expected a signature by`,
  );
const UNLINKED = (number: number): RegExp =>
  new RegExp(`000000000${number}\\.json does not follow the log before it: its previous is `);
const GONE = (number: number): RegExp => new RegExp(`000000000${number}\\.json is gone`);
const REWRITTEN =
  /Entry 3 of the log has the SHA-256 [0-9a-f]{64}, and the one seen before has [0-9a-f]{64}/;
const CUT_TO = (number: number): RegExp =>
  new RegExp(`The log ends with entry ${number}, and entry 3 was seen before: the log was cut off`);
const LACKS_2 = /the log lacks publications\/0000000002\.json/;
const CHANGED = /0000000003\.json is not the entry that was read before: is it another store\?/;
const MISFIT = (number: number): RegExp =>
  new RegExp(
    `Entry ${number} of the log \\(.*\\) has a signature that does not fit it: expected a signature by`,
  );
/** All is proven: a proxy that trusts its store can neither read nor show an object that is no entry. */
const NOTHING = /^$/;

export const ATTACKS: readonly Attack[] = [
  {
    name: "an older head offered as new",
    apply: (store) => appendUnsigned(store),
    running: UNSIGNED(4),
    restarted: UNSIGNED(4),
    kept: HEAD,
    verified: UNSIGNED(4),
    checked: /Entry 4 of the log \(.*\) is unsigned: expected a signature by/,
  },
  {
    name: "an older head, signed with the key that was replaced",
    apply: async (store) => void (await rollBackTo(store, SNAPSHOTS[0], RETIRED)),
    running: UNFIT(4),
    restarted: UNFIT(4),
    kept: HEAD,
    verified: UNFIT(4),
    checked: MISFIT(4),
  },
  {
    name: "an older head with the signature of another entry",
    apply: async (store) => appendUnsigned(store, await signatureOf(store, 3)),
    running: UNFIT(4),
    restarted: UNFIT(4),
    kept: HEAD,
    verified: UNFIT(4),
    checked: MISFIT(4),
  },
  {
    name: "an older head with a signature of another store by the same key",
    apply: async (store) => {
      const elsewhere = await anotherStore();
      await rollBackTo(elsewhere, SNAPSHOTS[0], OPERATOR);
      await appendUnsigned(store, await signatureOf(elsewhere, 4));
    },
    running: UNFIT(4),
    restarted: UNFIT(4),
    kept: HEAD,
    verified: UNFIT(4),
    checked: MISFIT(4),
  },
  {
    name: "an entry of another store, signed by the same key, with its snapshot",
    apply: async (store) => {
      const elsewhere = await anotherStore();
      const keys = signedBy(OPERATOR);
      const options = { usd: 22, revise: "Elsewhere", keys };
      await publishSession(elsewhere, new TestClock(CLOCK_MS), SESSION + 1, options);
      await graft(store, elsewhere);
    },
    running: UNLINKED(4),
    restarted: UNLINKED(4),
    kept: HEAD,
    verified: UNLINKED(4),
    checked: /Entry 4 of the log \(.*\) does not follow the log before it/,
  },
  {
    name: "an old entry changed",
    apply: (store) => changeEntry(store, 2, "Restated", "Restored"),
    running: /0000000002\.json is not the entry that was read before/,
    restarted: UNLINKED(3),
    kept: null,
    verified: UNLINKED(3),
    checked: /Entry 3 of the log \(.*\) does not follow the log before it/,
  },
  {
    name: "the newest entry changed",
    apply: (store) => changeEntry(store, 3, '"corrections":0', '"corrections":1'),
    running: CHANGED,
    restarted: REWRITTEN,
    kept: null,
    verified: UNFIT(3),
    checked: MISFIT(3),
  },
  {
    name: "the newest entry with other white space, which says the same",
    apply: (store) => changeEntry(store, 3, "}\n", " }\n"),
    running: /0000000003\.json is not an entry of the log/,
    restarted: /0000000003\.json is not an entry of the log/,
    kept: null,
    verified: /0000000003\.json is not an entry of the log/,
    checked: CUT_TO(2),
  },
  {
    name: "an older copy of the store: the newest entry cut off, with its snapshot",
    apply: (store) => remove(store, publicationKey(3), `sessions/${HEAD}/`),
    running: GONE(3),
    restarted: CUT_TO(2),
    kept: null,
    verified: CUT_TO(2),
    checked: CUT_TO(2),
  },
  {
    name: "the log cut off to what the replaced key has signed",
    apply: (store) => remove(store, publicationKey(2), publicationKey(3)),
    running: GONE(3),
    restarted: CUT_TO(1),
    kept: null,
    verified: UNFIT(1),
    checked: MISFIT(1),
  },
  {
    name: "the newest signature taken away",
    apply: async (store) => {
      const text = unsigned(String(await bytesOf(store, publicationKey(3))));
      await replace(store, publicationKey(3), Buffer.from(text));
    },
    running: CHANGED,
    restarted: REWRITTEN,
    kept: null,
    verified: UNSIGNED(3),
    checked: /Entry 3 of the log \(.*\) is unsigned/,
  },
  {
    name: "the newest signature with a character more",
    apply: (store) => changeEntry(store, 3, '=="}', 'A=="}'),
    running: /0000000003\.json is not an entry of the log/,
    restarted: /0000000003\.json is not an entry of the log/,
    kept: null,
    verified: /0000000003\.json is not an entry of the log/,
    checked: CUT_TO(2),
  },
  {
    name: "the newest signature in two places",
    apply: (store) => changeEntry(store, 3, "{", '{"signature":"x",'),
    running: /0000000003\.json is not an entry of the log/,
    restarted: /0000000003\.json is not an entry of the log/,
    kept: null,
    verified: /0000000003\.json is not an entry of the log/,
    checked: CUT_TO(2),
  },
  {
    name: "an entry taken out of the middle",
    apply: (store) => remove(store, publicationKey(2)),
    running: /the log lacks publications\/0000000002\.json|0000000002\.json is gone/,
    restarted: CUT_TO(1),
    kept: null,
    verified: LACKS_2,
    checked: /\/log\/2 answers 500 internal/,
  },
  {
    name: "the whole log replaced by an unsigned one",
    apply: async (store) => replaceAll(store, await publishThree(null, 31)),
    running: CHANGED,
    restarted: REWRITTEN,
    kept: null,
    verified: UNSIGNED(3),
    checked: /Entry 3 of the log \(.*\) is unsigned/,
  },
  {
    name: "the whole log replaced by the log of another store of the same operator",
    apply: async (store) => replaceAll(store, await anotherStore()),
    running: CHANGED,
    restarted: REWRITTEN,
    kept: null,
    verified: REWRITTEN,
    checked: REWRITTEN,
  },
  {
    name: "the whole log signed anew by the attacker, his public key beside it",
    apply: async (store) => {
      await replaceAll(store, await publishThree(RETIRED, 31));
      const pem = RETIRED.verifyKey.key.export({ type: "spki", format: "pem" });
      for (const key of ["signing.pem.pub", "publications/signing.pem.pub"]) {
        await store.create(key, Buffer.from(pem));
      }
    },
    running: CHANGED,
    restarted: REWRITTEN,
    kept: null,
    verified: UNFIT(3),
    checked: MISFIT(3),
  },
  {
    name: "the store emptied",
    apply: async (store) => replaceAll(store, new MemoryStore()),
    running: GONE(3),
    restarted: CUT_TO(0),
    kept: null,
    verified: CUT_TO(0),
    checked: /answers 503 no_session: No session is published yet/,
  },
  {
    name: "the files of two tiers swapped",
    apply: (store) => swapTiers(store, "nothing"),
    // The head is in memory; who asks for an older publication makes the proxy read.
    running: /2026-11-21T00Z\/r1\/pro\/board\.json\.gz is damaged: its SHA-256 is/,
    restarted: /2026-11-21T12Z\/r1\/\S+ (is damaged: its SHA-256 is|has \d+ bytes, expected)/,
    kept: SNAPSHOTS[1],
    verified: /2026-11-21T12Z\/r1\/free\/board\.json has \d+ bytes, expected \d+/,
    checked: CUT_TO(2),
  },
  {
    name: "the files of two tiers swapped, and SHA256SUMS and manifests made to agree",
    apply: (store) => swapTiers(store, "manifests"),
    running: /2026-11-21T00Z\/r1\/manifest\.json is damaged: its SHA-256 is/,
    restarted: /2026-11-21T12Z\/r1\/manifest\.json is damaged: its SHA-256 is/,
    kept: SNAPSHOTS[1],
    verified: /2026-11-21T12Z\/r1\/manifest\.json is damaged: its SHA-256 is/,
    checked: CUT_TO(2),
  },
  {
    name: "the files of two tiers swapped, and SHA256SUMS, manifests and the log made to agree",
    apply: (store) => swapTiers(store, "log"),
    running: CHANGED,
    restarted: REWRITTEN,
    kept: null,
    verified: UNFIT(3),
    checked: /\/prices has two numbers of delayed sessions/,
  },
  {
    name: "an entry of 10 MB",
    apply: (store) =>
      store.create(publicationKey(4), Buffer.alloc(10_000_000, " ")).then(() => undefined),
    running: /0000000004\.json has 10000000 bytes, expected 60000 or less/,
    restarted: /0000000004\.json has 10000000 bytes, expected 60000 or less/,
    kept: HEAD,
    verified: /0000000004\.json has 10000000 bytes, expected 60000 or less/,
    checked: NOTHING,
  },
  {
    name: "a number beyond 2^53",
    apply: async (store) => {
      await store.create(publicationKey(4), await bytesOf(store, publicationKey(3)));
      await changeEntry(store, 4, '"number":3', '"number":9007199254740993');
    },
    running: /0000000004\.json is not an entry of the log/,
    restarted: /0000000004\.json is not an entry of the log/,
    kept: HEAD,
    verified: /0000000004\.json is not an entry of the log/,
    checked: NOTHING,
  },
  {
    name: "an entry that follows itself",
    apply: async (store) => {
      const third = await mustRead(store, 3);
      const entry = { ...third.entry, number: 4 };
      const keys = signedBy(RETIRED);
      const previous = sha256Hex(signedEntry(entry, keys));
      await store.create(publicationKey(4), signedEntry({ ...entry, previous }, keys));
    },
    running: UNLINKED(4),
    restarted: UNLINKED(4),
    kept: HEAD,
    verified: UNLINKED(4),
    checked: /Entry 4 of the log \(.*\) does not follow the log before it/,
  },
];
