/** The log's format, chain and signatures, compared with values computed here from the bytes alone. */
import { createHash, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type StoredEntry } from "../../src/snapshot/log/entry.ts";
import { parseEntry, renderEntry, unsignedBytes } from "../../src/snapshot/log/entry-bytes.ts";
import {
  requireTrusted,
  signedEntry,
  signerOf,
  type LogKeys,
} from "../../src/snapshot/log/sign.ts";
import { entriesIn, mustRead, readLog, walkLog } from "../../src/snapshot/log/walk.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { replace } from "../cli/signed.ts";
import { append, EMPTY_PRUNE } from "../store/log-entries.ts";
import { publishOf } from "./publications.ts";

const newKey = () => parseSigningKey(newKeyPair().privatePem, "the test's key");
const [SIGNER, OTHER] = [newKey(), newKey()];
const signedBy = (signingKey: typeof SIGNER | null): LogKeys => ({ signingKey, verifyKeys: null });
const sha256 = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/** A log whose entries are signed by these keys, one after the other; null: unsigned. */
async function logOf(...keys: readonly (typeof SIGNER | null)[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [at, key] of keys.entries()) {
    await append(store, { ...EMPTY_PRUNE, parts: [`part ${at + 1}`] }, 0, signedBy(key));
  }
  return store;
}

async function all(log: AsyncIterable<StoredEntry>): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { entry } of log) numbers.push(entry.number);
  return numbers;
}

const bytesOf = async (store: MemoryStore, number: number): Promise<Buffer> =>
  (await store.get(publicationKey(number))) as Buffer;

async function change(store: MemoryStore, number: number, from: string, to: string): Promise<void> {
  const text = String(await bytesOf(store, number));
  expect(text).toContain(from);
  await replace(store, publicationKey(number), Buffer.from(text.replace(from, to)));
}

describe("an entry", () => {
  const entry = publishOf(1, "2026-11-21T00Z", 1, 'She said: ,"signature":"x"}');
  const digest = "0".repeat(64);

  test("is one line of JSON, its members in their order, the signature last", () => {
    const unsigned =
      '{"number":1,"action":"publish","session":"2026-11-21T00Z","revision":1,' +
      '"reason":"She said: ,\\"signature\\":\\"x\\"}","at":"2026-11-21T00:05:00.000Z",' +
      `"manifest_sha256":"${"0".repeat(63)}1","corrections":0,"previous":null,` +
      '"roots":{"free":null,"starter":null,"pro":null}}\n';
    expect(String(renderEntry(entry))).toBe(unsigned);
    const signed = String(signedEntry(entry, signedBy(SIGNER)));
    const [, start, signature] =
      /^(.*),"signature":"([A-Za-z0-9+/]{86}==)"\}\n$/.exec(signed) ?? [];
    expect(`${start}}\n`).toBe(unsigned);
    const message = Buffer.concat([
      Buffer.from("chipboard log v2\n"),
      sha256(Buffer.from(unsigned)),
    ]);
    const { key } = SIGNER.verifyKey;
    expect(verify(null, message, key, Buffer.from(signature as string, "base64"))).toBe(true);
    const stored = parseEntry(Buffer.from(signed), 1, "here");
    expect(stored).toMatchObject({
      entry,
      signature,
      sha256: sha256(stored.bytes).toString("hex"),
    });
    expect(parseEntry(Buffer.from(unsigned), 1, "here")).toMatchObject({ entry, signature: null });
  });

  const signed = String(signedEntry(entry, signedBy(SIGNER)));
  const plain = String(renderEntry(entry));
  const NEWER = /^here was published by a newer chipboard: /;
  const OLD = "here was written by a development version before 0.2.0; publish into a new store";
  test.each<[string, string | RegExp, string | Buffer]>([
    ["no line feed", "is not an entry", plain.trimEnd()],
    ["two", "is not an entry", `${plain}\n`],
    ["white space", "is not an entry", plain.replace(":1", ": 1")],
    ["a member twice", "is not an entry", plain.replace("{", '{"number":1,')],
    ["a number in another form", "is not an entry", plain.replace(":1,", ":1.0,")],
    ["escapes that need not be", "is not an entry", plain.replace("She", "\\u0053he")],
    [
      "bytes that are no UTF-8",
      "is not an entry",
      Buffer.from(plain.replace("She", "\xff"), "latin1"),
    ],
    [
      "two signatures",
      "is not an entry",
      signed.replace("}\n", `${/,"sig[^}]*/.exec(signed)?.[0]}}\n`),
    ],
    ["a signature that is not the last", "is not an entry", plain.replace("{", '{"signature":"",')],
    ["a shorter signature", "is not an entry", signed.replace('=="}', '="}')],
    ["a signature in another form", "is not an entry", signed.replace(/.=="\}/, '_=="}')],
    [
      "a signature among the roots",
      "is not an entry",
      plain.replace('{"free"', '{"signature":"","free"'),
    ],
    ["another number", "carries another number", plain.replace(":1,", ":2,")],
    ["one before the first", "expected a previous", plain.replace('us":null', `us":"${digest}"`)],
    ["no digest", "is not an entry", plain.replace("0001", "000g")],
    ["an unknown action", NEWER, plain.replace("publish", "archive")],
    ["an unknown member", NEWER, plain.replace("}\n", ',"more":1}\n')],
    [
      "an unknown tier",
      /newer chipboard: it has "roots.gold"$/,
      plain.replace('"pro"', '"gold":null,"pro"'),
    ],
    ["no previous", OLD, plain.replace('"previous":null,', "")],
    ["no roots", "is not an entry", plain.replace(/,"roots".*\}\}/, "}")],
    ["10 MB", "has 10000000 bytes, expected 60000 or less", " ".repeat(10_000_000)],
    ["a nest of brackets", "is not an entry", "[".repeat(50_000)],
    ["null", "is not an entry", "null\n"],
  ])("is refused with %s", (_name, said, bytes) => {
    const read = (): unknown => parseEntry(Buffer.from(bytes), 1, "here");
    expect(read).toThrow(said);
    expect(read).toThrow(expect.objectContaining({ exitCode: 6 }));
  });

  test("of a program with fewer tiers lacks their roots, and is rendered as it was", () => {
    const fewer = plain.replace(',"starter":null', "");
    const { entry: read } = parseEntry(Buffer.from(fewer), 1, "here");
    expect(read).toMatchObject({ roots: { free: null, pro: null } });
    expect(String(renderEntry(read))).toBe(fewer);
    const resigned = signedEntry(read, signedBy(SIGNER));
    expect(String(unsignedBytes(resigned, parseEntry(resigned, 1, "here").signature))).toBe(fewer);
  });

  test("but the first has a previous", () => {
    const second = String(renderEntry({ ...entry, number: 2, previous: null }));
    expect(() => parseEntry(Buffer.from(second), 2, "here")).toThrow("expected a previous");
  });
});

describe("the chain", () => {
  test("is the SHA-256 of the whole entry before, signature included", async () => {
    const store = await logOf(SIGNER, null, SIGNER);
    const [first, ...others] = await readLog(store);
    expect(first?.entry.previous).toBeNull();
    for (const { entry } of others) {
      const before = await bytesOf(store, entry.number - 1);
      expect(entry.previous).toBe(sha256(before).toString("hex"));
    }
  });

  test("shows a change of any entry but the newest, up and down", async () => {
    for (let number = 1; number <= 5; number += 1) {
      const store = await logOf(null, SIGNER, null, SIGNER, null, null);
      await change(store, number, "part ", "Part ");
      const broken =
        /publications\/000000000\d\.json does not follow the log before it: its previous is [0-9a-f]{64}, expected [0-9a-f]{64}$/;
      const up = all(walkLog(entriesIn(store), 1));
      await expect(up, String(number)).rejects.toThrow(broken);
      await expect(readLog(store), String(number)).rejects.toThrow(broken);
    }
  });

  test("is read from any entry on, and as far as somebody asks", async () => {
    const store = await logOf(null, null, null, null);
    const numbers = (from: number, step: 1 | -1): Promise<number[]> =>
      all(walkLog(entriesIn(store), from, step));
    expect(await numbers(2, 1)).toEqual([2, 3, 4]);
    expect(await numbers(3, -1)).toEqual([3, 2, 1]);
    await store.delete(publicationKey(2));
    expect(await numbers(1, 1)).toEqual([1]);
    await expect(readLog(store)).rejects.toThrow("the log lacks publications/0000000002");
    const read: number[] = [];
    for await (const { entry } of walkLog(entriesIn(store), 3)) {
      read.push(entry.number);
      if (entry.number === 3) break;
    }
    expect(read).toEqual([3]);
  });
});

describe("a signature", () => {
  test("fits its entry and its key alone, whatever bit changes", async () => {
    const store = await logOf(SIGNER);
    const stored = await mustRead(store, 1);
    expect(signerOf(stored, [OTHER.verifyKey, SIGNER.verifyKey])).toBe(SIGNER.verifyKey);
    expect(signerOf(stored, [OTHER.verifyKey])).toBeNull();
    expect(signerOf(stored, [])).toBeNull();
    const other = await mustRead(await logOf(null), 1);
    expect(signerOf({ ...other, signature: stored.signature }, [SIGNER.verifyKey])).toBeNull();
    const signature = Buffer.from(stored.signature as string, "base64");
    for (let bit = 0; bit < 512; bit += 1) {
      const changed = Buffer.from(signature);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const damaged = { ...stored, signature: changed.toString("base64") };
      expect(signerOf(damaged, [SIGNER.verifyKey]), `bit ${bit}`).toBeNull();
    }
  });

  test("is invalid if its number is not below the order of the curve (RFC 8032, 5.1.7)", async () => {
    const stored = await mustRead(await logOf(SIGNER), 1);
    const signature = Buffer.from(stored.signature as string, "base64");
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const number = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString("hex")}`);
    for (const times of [1n, 2n, 14n]) {
      const hex = (number + times * order).toString(16).padStart(64, "0");
      const high = Buffer.from(hex, "hex").reverse();
      const text = Buffer.concat([signature.subarray(0, 32), high]).toString("base64");
      expect(signerOf({ ...stored, signature: text }, [SIGNER.verifyKey])).toBeNull();
    }
  });
});

describe("a run that signs has seen", () => {
  /** The numbers of the entries that it reads before it may append. */
  async function seenBy(store: MemoryStore, verifyKeys: LogKeys["verifyKeys"]): Promise<number[]> {
    const newest = (await readLog(store)).at(-1) ?? null;
    const read = new Set<number>([newest?.entry.number ?? 0]);
    const get = store.get.bind(store);
    store.get = (key, bytesMax) => {
      read.add(Number(/\d{10}/.exec(key)?.[0]));
      return get(key, bytesMax);
    };
    await requireTrusted(store, newest, { signingKey: SIGNER, verifyKeys });
    return [...read].toSorted((a, b) => a - b);
  }

  test("every link from the newest entry that its own key signed, or from the first", async () => {
    const logs = [
      { log: await logOf(SIGNER, SIGNER, SIGNER), seen: [3] },
      { log: await logOf(null, null, null), seen: [1, 2, 3] },
      { log: await logOf(OTHER, OTHER, OTHER), seen: [1, 2, 3] },
    ];
    for (const { log, seen } of logs) expect(await seenBy(log, null)).toEqual(seen);
  });

  test("and a newest entry that one of the keys signed, if it is to verify", async () => {
    const both = [SIGNER.verifyKey, OTHER.verifyKey];
    await seenBy(await logOf(null, OTHER), both);
    await expect(seenBy(await logOf(SIGNER, null), both)).rejects.toThrow(
      "0000000002.json is unsigned: expected a signature by",
    );
    await expect(seenBy(await logOf(SIGNER, OTHER), [SIGNER.verifyKey])).rejects.toThrow(
      "0000000002.json has a signature that does not fit it: expected a signature by",
    );
  });

  test("a link that is broken before its own signature ends it", async () => {
    for (const [log, said] of [
      [await logOf(null, null, null), "does not follow"],
      [await logOf(OTHER, OTHER, OTHER), "does not follow"],
      [await logOf(null, null, SIGNER), null],
    ] as const) {
      const newest = await mustRead(log, 3);
      await change(log, 1, "part ", "Part ");
      const trusted = requireTrusted(log, newest, signedBy(SIGNER));
      await (said === null ? trusted : expect(trusted).rejects.toThrow(said));
    }
  });
});
