/** The chain of the log, compared with digests that are computed here from the bytes alone. */
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { appendEntry, linkTo } from "../../src/snapshot/append.ts";
import { Chain, proveChain } from "../../src/snapshot/chain.ts";
import {
  signatureOfEntry,
  signerOfAnnouncement,
  signerOfEntry,
  announcementOf,
} from "../../src/snapshot/entry-signature.ts";
import { readLogEnd, renderEntry, type PruneEntry } from "../../src/snapshot/publication-log.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { publicationKey } from "../../src/store/paths.ts";

const AT = "2026-11-21T00:05:00.000Z";
const entry = (number: number, previous?: string | null): PruneEntry => ({
  number,
  action: "prune",
  at: AT,
  snapshots: [],
  parts: [`part ${number}`],
  ...(previous === undefined ? {} : { previous }),
});
const sha256 = (...parts: readonly Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};

/** A log in which the entries with these numbers have no `previous`, as older versions append them. */
async function logOf(length: number, unlinked: readonly number[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (let number = 1; number <= length; number += 1) {
    const { newest } = await readLogEnd(store);
    const isLinked = !unlinked.includes(number);
    const made = entry(number, isLinked ? await linkTo(store, newest) : undefined);
    expect(await appendEntry(store, made)).toBe("created");
  }
  return store;
}

const bytesOf = async (store: MemoryStore, number: number): Promise<Buffer> =>
  (await store.get(publicationKey(number))) as Buffer;
const previousOf = async (store: MemoryStore, number: number): Promise<unknown> =>
  JSON.parse(String(await bytesOf(store, number))).previous;

describe("previous", () => {
  test("is null in the first entry, then the SHA-256 of the entry before", async () => {
    const store = await logOf(3, []);
    expect(await previousOf(store, 1)).toBeNull();
    expect(await previousOf(store, 2)).toBe(sha256(await bytesOf(store, 1)));
    expect(await previousOf(store, 3)).toBe(sha256(await bytesOf(store, 2)));
  });

  test("of the first entry to have it covers all before it", async () => {
    const store = await logOf(4, [1, 2, 3]);
    const before = await Promise.all([1, 2, 3].map((number) => bytesOf(store, number)));
    expect(await previousOf(store, 4)).toBe(sha256(...before));
    expect((await proveChain(store, 1, 4)).newest?.entry.number).toBe(4);
  });

  test("covers what an older version appended in between, from the last entry that has it", async () => {
    const store = await logOf(6, [1, 4, 5]);
    const covered = await Promise.all([3, 4, 5].map((number) => bytesOf(store, number)));
    expect(await previousOf(store, 6)).toBe(sha256(...covered));
    await proveChain(store, 1, 6);
    await proveChain(store, 3, 6);
  });
});

describe("a chain", () => {
  const changed = async (store: MemoryStore, number: number): Promise<void> => {
    const text = String(await bytesOf(store, number)).replace("part ", "Part ");
    await store.delete(publicationKey(number));
    await store.create(publicationKey(number), Buffer.from(text), "");
  };

  test.each([
    ["linked entries", []],
    ["entries of an older version", [1, 2, 3]],
    ["entries of an older version in between", [3, 4]],
  ])("shows a change of any entry but the newest: %s", async (_name, unlinked) => {
    for (let number = 1; number <= 5; number += 1) {
      const store = await logOf(6, unlinked);
      await changed(store, number);
      await expect(proveChain(store, 1, 6), String(number)).rejects.toThrow(
        /publications\/000000000\d\.json does not follow the log before it: its previous is [0-9a-f]{64}, expected [0-9a-f]{64}$/,
      );
    }
  });

  test("shows an entry that is gone, and one without its link", async () => {
    const store = await logOf(4, []);
    await store.delete(publicationKey(2));
    await expect(proveChain(store, 1, 4)).rejects.toThrow("the log lacks publications/0000000002");
    const unlinked = await logOf(4, [2]);
    await expect(proveChain(unlinked, 2, 4)).rejects.toThrow(
      "0000000002.json has no previous, so what follows cannot be proven from it",
    );
    await proveChain(unlinked, 1, 4);
  });

  test("goes on from the entry that it began with", async () => {
    const store = await logOf(4, []);
    const chain = await proveChain(store, 2, 3);
    expect(chain.link).toBe(sha256(await bytesOf(store, 3)));
    chain.add(await bytesOf(store, 4), 4, "four");
    expect(() => chain.add(renderEntry(entry(5, "0".repeat(64))), 5, "five")).toThrow(
      "five does not follow the log before it",
    );
    expect(() => chain.add(renderEntry(entry(5, null)), 5, "five")).toThrow("previous is null");
    expect(chain.newest?.entry.number).toBe(4);
  });

  test.each([
    ["first entry that names one before", 1, renderEntry(entry(1, "0".repeat(64)))],
    ["entry with another number", 2, renderEntry(entry(3, null))],
    ["entry of 10 MB", 1, Buffer.alloc(10_000_000, " ")],
    ["number beyond 2^53", 1, Buffer.from('{"action":"prune","number":9007199254740993}')],
    ["nest of brackets", 1, Buffer.from("[".repeat(50_000))],
    ["text", 1, Buffer.from("no entry")],
  ])("refuses a %s", (_name, number, bytes) => {
    expect(() => new Chain().add(bytes, number, "here")).toThrow(/^here /);
  });
});

describe("a signature of an entry", () => {
  const { privatePem } = newKeyPair();
  const signer = parseSigningKey(privatePem, "the test's key");
  const bytes = renderEntry(entry(1, null));
  const digest = sha256(bytes);

  test("is Ed25519 over a line that says what for, and the SHA-256 of the bytes", () => {
    const message = Buffer.concat([
      Buffer.from("chipboard log v1\n"),
      createHash("sha256").update(bytes).digest(),
    ]);
    const signature = signatureOfEntry(digest, signer);
    expect(signature).toHaveLength(64);
    expect(verify(null, message, signer.verifyKey.key, signature)).toBe(true);
    expect(signatureOfEntry(digest, signer)).toEqual(signature);
  });

  test("fits this entry and this key, and no announcement fits in its place", () => {
    const other = parseSigningKey(newKeyPair().privatePem, "another key");
    const keys = [other.verifyKey, signer.verifyKey];
    const signature = signatureOfEntry(digest, signer);
    expect(signerOfEntry(signature, digest, keys)).toBe(signer.verifyKey);
    expect(signerOfEntry(signature, sha256(Buffer.from("other")), keys)).toBeNull();
    expect(signerOfEntry(signature, digest, [other.verifyKey])).toBeNull();
    const announcement = announcementOf(digest, signer);
    expect(signerOfAnnouncement(announcement, digest, keys)).toBe(signer.verifyKey);
    expect(signerOfEntry(announcement, digest, keys)).toBeNull();
    expect(signerOfAnnouncement(signature, digest, keys)).toBeNull();
  });

  test("of no bytes, or of bytes without sense, fits nothing", () => {
    const { publicKey } = generateKeyPairSync("ed25519");
    const keys = [{ key: publicKey, fingerprint: "" }];
    for (const bad of [Buffer.alloc(0), Buffer.alloc(64), Buffer.alloc(63), Buffer.alloc(10_000)]) {
      expect(signerOfEntry(bad, digest, keys)).toBeNull();
    }
  });
});
