/** A folder with signed snapshots, and helpers: the program, openssl, and changes that an attacker could make. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { onTestFinished } from "vitest";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { identityOf, type Manifest } from "../../src/snapshot/manifest.ts";
import { type Publication } from "../../src/snapshot/log/entry.ts";
import { renderEntry } from "../../src/snapshot/log/entry-bytes.ts";
import { readHead } from "../store/log-entries.ts";
import { renderSums, rootsOf } from "../../src/snapshot/sums.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { codedPath, FILES, publicationKey, snapshotFolder } from "../../src/store/paths.ts";
import type { Ran } from "../program/program.ts";
import { plainBytes } from "../store/stored-file.ts";
import { catalogOf, quotesOf } from "./small-market.ts";
import { inProcess } from "./run.ts";

export const FIRST = "2026-11-20T12Z";
export const SECOND = "2026-11-21T00Z";
const IDS = ["a", "b", "c"];

export interface Workshop {
  /** `@name`: the file of that name here. */
  path(name: string): string;
  readonly store: FolderStore;
  /** Runs `chipboard LINE`; words that begin with `@` are files here, and `@store` is the store. */
  say(line: string, env?: Record<string, string>): Promise<Ran>;
  /** The same; expects exit code 0 and returns the output. */
  must(line: string): Promise<string>;
  /** Publishes FIRST or SECOND, with further options. */
  publish(session: string, more?: string): Promise<Ran>;
  /** Makes a pair with openssl, `NAME` and `NAME.pub`; returns the fingerprint that openssl gives. */
  opensslKey(name: string): Promise<string>;
  /** A signature of the file `@name` by openssl, or what openssl says of one. */
  openssl(line: string): Promise<{ code: number; out: string }>;
  bytes(name: string): Buffer;
}

/** A folder with a small market's files; it is removed when the test is done. */
export function workshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-signed-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  const worded = (line: string): string[] =>
    line.split(/ +/).map((word) => (word.startsWith("@") ? path(word.slice(1)) : word));
  writeFileSync(path("catalog.csv"), catalogOf(IDS));
  for (const [at, session] of [FIRST, SECOND].entries()) {
    const levels = Object.fromEntries(IDS.map((id, item) => [id, 10 + item + at]));
    writeFileSync(path(`${session}.csv`), quotesOf(levels));
  }
  const say: Workshop["say"] = (line, env = {}) => {
    const words = worded(line);
    const inStore = words[0] === "keys" ? [] : ["--store", path("store")];
    return inProcess([...words, ...inStore], { env });
  };
  const must: Workshop["must"] = async (line) => {
    const { code, stdout, stderr } = await say(line);
    if (code === 0) return stdout;
    throw new Error(`${line} ended with ${code}: ${stderr}`);
  };
  const openssl: Workshop["openssl"] = (line) =>
    new Promise((resolve, reject) => {
      execFile("openssl", worded(line), { encoding: "utf8" }, (error, stdout, stderr) => {
        if (error !== null && typeof error.code !== "number") reject(error);
        else resolve({ code: Number(error?.code ?? 0), out: stdout + stderr });
      });
    });
  return {
    path,
    store: new FolderStore(path("store")),
    say,
    must,
    publish: (session, more = "") => {
      const feeds = `--catalog @catalog.csv --quotes @${session}.csv --session ${session}`;
      return say(`publish ${feeds} ${more}`.trim());
    },
    openssl,
    async opensslKey(name) {
      await openssl(`genpkey -algorithm ed25519 -out @${name}`);
      await openssl(`pkey -in @${name} -pubout -out @${name}.pub`);
      await openssl(`pkey -pubin -in @${name}.pub -outform DER -out @${name}.der`);
      const { out } = await openssl(`dgst -sha256 -r @${name}.der`);
      return out.split(" ")[0] as string;
    },
    bytes: (name) => readFileSync(path(name)),
  };
}

/** The path of a snapshot's file in `@store`. */
export const stored = (session: string, file: string): string =>
  `store/sessions/${session}/r1/${file}`;

/** The key of the entry with this number, below 10. */
export const ENTRY = (number: number): string => `publications/000000000${number}.json`;

/** What openssl says of the signature of an entry, with the message as README.md makes it. */
export async function opensslVerifies(
  shop: Workshop,
  publicKey: string,
  number = 1,
): Promise<boolean> {
  const text = String(shop.bytes(`store/${ENTRY(number)}`));
  writeFileSync(shop.path("unsigned"), unsigned(text));
  writeFileSync(shop.path("made"), Buffer.from(signatureIn(text), "base64"));
  await shop.openssl("dgst -sha256 -binary -out @digest @unsigned");
  const message = Buffer.concat([Buffer.from("chipboard log v2\n"), shop.bytes("digest")]);
  writeFileSync(shop.path("message"), message);
  const { code } = await shop.openssl(
    `pkeyutl -verify -pubin -inkey @${publicKey} -rawin -in @message -sigfile @made`,
  );
  return code === 0;
}

/** The text of an entry without its signature, as it is signed. */
export const unsigned = (text: string): string => text.replace(/,"signature":"[^"]*"\}$/m, "}");

/** The signature in the text of an entry; "" without one. */
export const signatureIn = (text: string): string =>
  /,"signature":"([^"]*)"\}$/m.exec(text)?.[1] ?? "";

/** The text of an entry with this signature in the place of its own. */
export const signedAs = (text: string, signature: string): string =>
  unsigned(text).replace("}\n", `,"signature":"${signature}"}\n`);

/** Changes the text of an entry below 10. */
export async function changeEntry(
  store: ObjectStore,
  number: number,
  change: (text: string) => string,
): Promise<void> {
  const text = String(await store.get(ENTRY(number)));
  const changed = change(text);
  if (changed === text) throw new Error(`Nothing is changed in entry ${number}`);
  await replace(store, ENTRY(number), Buffer.from(changed));
}

/** Replaces the bytes of an object. No store does this itself. */
export async function replace(store: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  await store.delete(key);
  await store.create(key, bytes);
}

/**
 * Acts as an attacker who can write to the store but has no key: changes a file of the head, and
 * makes everything agree with it.
 */
export async function forgeHead(
  store: ObjectStore,
  change: (text: string) => string,
  file = "pro/board.json",
): Promise<void> {
  const head = await requireHead(store);
  const text = String(await plainBytes(store, snapshotFolder(head) + file));
  const bytes = Buffer.from(change(text));
  if (bytes.equals(Buffer.from(text))) throw new Error(`Nothing is changed in ${file}`);
  await changeHead(store, () => ({}), { [file]: bytes });
}

/**
 * Gives the head other files and another manifest, and makes SHA256SUMS, the identity and the newest
 * entry of the log agree with them. Files that the manifest no longer names are removed.
 */
export async function changeHead(
  store: ObjectStore,
  change: (manifest: Manifest) => object,
  contents: Readonly<Record<string, Buffer>> = {},
): Promise<void> {
  const folder = snapshotFolder(await requireHead(store));
  const before = JSON.parse(String(await store.get(`${folder}manifest.json`))) as Manifest;
  const manifest = { ...before, ...change(before) };
  const put = (path: string, bytes: Buffer): Promise<void> =>
    putFile(store, folder, manifest, path, bytes);
  for (const [path, bytes] of Object.entries(contents)) await put(path, bytes);
  for (const tier of ["free", "starter", "pro"]) {
    const path = FILES.sums(tier);
    if (!manifest.files.some((entry) => entry.path === path)) continue;
    await put(path, renderSums(tier, manifest.files));
  }
  manifest.identity = identityOf(manifest.files, manifest.ledger);
  const kept = new Set(manifest.files.map(({ path }) => path));
  for (const { path } of before.files) {
    if (kept.has(path)) continue;
    await store.delete(folder + path);
    await store.delete(folder + codedPath(path));
  }
  await pointHeadTo(store, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`));
}

/** Gives a snapshot in `folder` another file, plain and coded as the manifest says, and says so in it. */
export async function putFile(
  store: ObjectStore,
  folder: string,
  manifest: Manifest,
  path: string,
  bytes: Buffer,
): Promise<void> {
  const { gzip, stored: as } = manifest.files.find((entry) => entry.path === path) ?? {};
  const code = gzipSync(bytes);
  if (as !== "gzip") await replace(store, folder + path, bytes);
  if (gzip !== undefined) await replace(store, folder + codedPath(path), code);
  manifest.files = manifest.files.map((entry) => {
    if (entry.path !== path) return entry;
    const { parts: _, ...others } = entry;
    const size = { bytes: bytes.length, sha256: sha256Hex(bytes) };
    if (gzip === undefined) return { ...others, ...size };
    return { ...others, ...size, gzip: { bytes: code.length, sha256: sha256Hex(code) } };
  });
}

/** Replaces the head's manifest, and makes its entry, which must be the newest, agree with it. */
export async function pointHeadTo(store: ObjectStore, manifest: Uint8Array): Promise<void> {
  const head = await requireHead(store);
  await replace(store, `${snapshotFolder(head)}manifest.json`, manifest);
  const roots = rootsOf(JSON.parse(String(manifest)));
  const entry = renderEntry({ ...head, manifest_sha256: sha256Hex(manifest), roots });
  const key = publicationKey(head.number);
  const signature = signatureIn(String(await store.get(key)));
  const text = signature === "" ? String(entry) : signedAs(String(entry), signature);
  await replace(store, key, Buffer.from(text));
}

async function requireHead(store: ObjectStore): Promise<Publication> {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  return head;
}
