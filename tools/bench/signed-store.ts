/**
 * A signed log of any length over snapshots of 110 contracts with five years of closes, in memory and in
 * copies. Publishes, entries, signatures and copies are made by the program's own functions.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyStore } from "../../src/desk/copy-store.ts";
import { logLength } from "../../src/snapshot/log/walk.ts";
import type { LogKeys } from "../../src/snapshot/log/sign.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { MemoryStore } from "../../test/store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { FIRST_SESSION, writeMarket, type MarketFiles } from "./bench-market.ts";
import { CONTRACTS } from "./bench-service.ts";
import { appendRollbacks, publishQuotes } from "./vintage-store.ts";

/** 5,000 entries fit into the session. */
const ENTRY_EVERY_MS = 8_000;

/** The store in memory, the market that it is published from, and the keys. */
export interface SignedStore {
  readonly memory: MemoryStore;
  readonly market: MarketFiles;
  readonly keys: LogKeys;
  /** The file of the public key. */
  readonly verifyKey: string;
}

/** Publishes the first of `sessions` sessions. */
export async function signedStore(folder: string, sessions: number): Promise<SignedStore> {
  const inputs = join(folder, "inputs");
  mkdirSync(inputs);
  const market = writeMarket(inputs, CONTRACTS, sessions);
  const { privatePem, publicPem } = newKeyPair();
  const verifyKey = join(folder, "signing.pem.pub");
  writeFileSync(verifyKey, publicPem);
  const signingKey = parseSigningKey(privatePem, "a new key");
  const keys = { signingKey, verifyKeys: [signingKey.verifyKey] };
  const memory = new MemoryStore();
  await publishQuotes(memory, market, FIRST_SESSION, keys);
  return { memory, market, keys, verifyKey };
}

/** Where a copy is, as the program needs to know it. */
export interface Place {
  readonly name: "folder" | "S3";
  readonly location: string;
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly open: () => Promise<ObjectStore>;
}

export function folderPlace(location: string): Place {
  return { name: "folder", location, options: [], env: {}, open: () => openStore(location) };
}

/** A new prefix on the S3 server with these variables. */
export function s3Place(env: Readonly<Record<string, string>>): Place {
  // The credentials only: if it also had the endpoint, the next part would take this server for one that
  // stays.
  for (const [name, value] of Object.entries(env)) {
    if (name.startsWith("AWS_")) process.env[name] = value;
  }
  const endpoint = env["CHIPBOARD_TEST_S3_ENDPOINT"] as string;
  const location = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${randomUUID()}`;
  return {
    name: "S3",
    location,
    options: ["--s3-endpoint", endpoint, "--s3-path-style"],
    env,
    open: () => openStore(location, { endpoint, pathStyle: true }),
  };
}

/** Appends rollbacks until the log has so many entries, and brings the copies to this state. */
export async function growTo(
  { memory, keys }: SignedStore,
  entries: number,
  places: readonly Place[],
): Promise<void> {
  await appendRollbacks(memory, entries - (await logLength(memory)), ENTRY_EVERY_MS, keys);
  for (const place of places) {
    const store = await place.open();
    await copyStore(memory, store, false, () => {});
    await store.close();
  }
}
