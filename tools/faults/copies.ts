/**
 * A store of 120 contracts is copied from a folder to S3, and from there into another folder, while
 * publishing goes on in the first one. The copies are killed (SIGKILL) and run again: in the end all
 * three stores hold the same bytes.
 */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { uniformAt } from "../../src/demo/random.ts";
import { sessionKey } from "../../src/market/session.ts";
import { logLength } from "../../src/snapshot/log/walk.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { at, catalogOf, mustPublish, quotesOf } from "../../test/cli/small-market.ts";
import { start } from "../../test/program/program.ts";
import { requireVerified, wholeHead } from "./crash-head.ts";
import { withS3 } from "./crash-places.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";

const CONTRACTS = 120;
const SIZES = {
  full: { sessions: 40, publishedBefore: 30, kills: 10 },
  short: { sessions: 5, publishedBefore: 3, kills: 2 },
} as const;
/** How long a copy lives at most after it has read the manifests. */
const LIFE_MS = 2_000;
const FIRST = at("2026-11-01T00Z");
const IDS = Array.from({ length: CONTRACTS }, (_, index) => `contract-${index}`);

/** Returns no rows where the S3 server's programs are missing. */
export const copyFaults: Faults = (options) =>
  withS3(options.say, async (place) => {
    const onS3 = await place.empty();
    const rows = await copiesThrough(onS3, options);
    await place.remove(onS3);
    return rows;
  });

async function copiesThrough(
  onS3: ObjectStore,
  { scale, seed, say, folder }: FaultOptions,
): Promise<FaultRow[]> {
  const { sessions, publishedBefore, kills } = SIZES[scale];
  const [source, last] = ["source", "last"].map((name) => new FolderStore(join(folder, name)));
  if (source === undefined || last === undefined) throw new Error("There are two folders");
  for (let number = 0; number < publishedBefore; number += 1) await publishSession(source, number);
  const publishing = (async () => {
    for (let number = publishedBefore; number < sessions; number += 1) {
      await publishSession(source, number);
    }
  })();

  const toS3 = new Tally("kill -9 of a copy from a folder to S3", say);
  for (let kill = 0; kill < kills; kill += 1) {
    const lifeMs = LIFE_MS * uniformAt(seed, kill);
    await toS3.inject(`kill ${kill}, seed ${seed}`, () => killedCopy(source, onS3, lifeMs));
  }
  await publishing;
  await toS3.inject(`the copy after ${kills} kills, seed ${seed}`, async () => {
    await copy(source, onS3, null);
    await requireSame(source, onS3);
  });

  const toFolder = new Tally("kill -9 of a copy from S3 to a folder", say);
  for (let kill = 0; kill < kills; kill += 1) {
    const lifeMs = LIFE_MS * uniformAt(seed, kills + kill);
    await toFolder.inject(`kill ${kill}, seed ${seed}`, () => killedCopy(onS3, last, lifeMs));
  }
  await toFolder.inject(`the copy after ${kills} kills, seed ${seed}`, async () => {
    await copy(onS3, last, null);
    await requireSame(source, last);
    await publishSession(last, sessions);
    await requireVerified(last);
  });
  return [toS3.row, toFolder.row];
}

async function publishSession(store: ObjectStore, number: number): Promise<void> {
  const levels = IDS.map((id, index) => [id, (1_000 + 7 * index + (number % 9)) / 100]);
  await mustPublish(store, {
    session: sessionKey(FIRST + number),
    ...(number === 0 ? { catalog: catalogOf(IDS) } : {}),
    quotes: quotesOf(Object.fromEntries(levels)),
  });
}

/** Whenever a copy is killed, the target has no log yet, or a complete head. */
async function killedCopy(from: ObjectStore, to: ObjectStore, lifeMs: number): Promise<void> {
  await copy(from, to, lifeMs);
  if ((await logLength(to)) > 0) await wholeHead(to);
}

/** Runs a copy. Throws if it fails; null: it may live until it ends. */
async function copy(from: ObjectStore, to: ObjectStore, lifeMs: number | null): Promise<void> {
  const env = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      name.startsWith("AWS_") && value !== undefined ? [[name, value]] : [],
    ),
  );
  const child = start(["snapshots", "copy", from.location, to.location], {
    env: {
      ...env,
      CHIPBOARD_S3_ENDPOINT: process.env["CHIPBOARD_TEST_S3_ENDPOINT"] ?? "",
      CHIPBOARD_S3_PATH_STYLE: "1",
    },
  });
  const closed = once(child, "close");
  child.stdout?.resume();
  let said = "";
  const isReading = new Promise<void>((resolve) => {
    child.stderr?.on("data", (text) => {
      said += String(text);
      if (said.includes("Reading")) resolve();
    });
  });
  if (lifeMs !== null) {
    await Promise.race([isReading.then(() => delay(lifeMs)), closed]);
    child.kill("SIGKILL");
  }
  const [code, signal] = (await closed) as [number | null, NodeJS.Signals | null];
  if (code !== 0 && signal !== "SIGKILL") throw new Error(`The copy ended with ${code}: ${said}`);
}

/** Throws if the stores do not hold the same objects. Claims and probes are not copied. */
async function requireSame(expected: ObjectStore, found: ObjectStore): Promise<void> {
  const all = await digestsOf(expected);
  const copies = await digestsOf(found);
  for (const key of new Set([...all.keys(), ...copies.keys()])) {
    if (all.get(key) !== copies.get(key)) throw new Error(`${key} is not the same in both stores`);
  }
}

async function digestsOf(store: ObjectStore): Promise<ReadonlyMap<string, string>> {
  const keys: string[] = [];
  for await (const { key } of store.list("")) {
    if (!key.startsWith("claims/")) keys.push(key);
  }
  const digests = keys.map(
    async (key) => [key, sha256Hex((await store.get(key)) as Buffer)] as const,
  );
  return new Map(await Promise.all(digests));
}
