/** Stores that have begun: as an operator does, a test marks a new store before it publishes into it. */
import { existsSync } from "node:fs";
import { rmdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Clock } from "../../src/lib/clock.ts";
import { publish as publishInto } from "../../src/publish/publish.ts";
import { markStore } from "../../src/snapshot/store-mark.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { STORE_MARK } from "../../src/store/paths.ts";

/** The same for all stores, so that tests can compare two of them byte for byte. */
const ID = "00000000-0000-4000-8000-000000000000";
const BEGUN_MS = Date.parse("2026-11-01T00:00:00Z");

/** Marks the store if it is new. */
export const begin = (store: ObjectStore): Promise<boolean> => markStore(store, BEGUN_MS, ID);

/** `publish`, which begins a new store. */
export const publish: typeof publishInto = async (request, store, clock, progress) => {
  await begin(store);
  return publishInto(request, store, clock, progress);
};

/** A clock that stands at an instant. */
export const clockAt = (instant: string): Clock => ({ now: () => Date.parse(instant) });

/** What a command line is run in. */
interface Surroundings {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/**
 * Begins the folder of a command line that publishes. Tests begin stores elsewhere themselves. A folder that cannot
 * be begun stays as it is: the command finds that. The result ends a store again into which nothing was published.
 */
export async function beginFolder(
  args: readonly string[],
  { cwd = process.cwd(), env = {} }: Surroundings,
): Promise<() => Promise<void>> {
  const done = async (): Promise<void> => {};
  if (args[0] !== "publish") return done;
  const given = args.includes("--store")
    ? args[args.indexOf("--store") + 1]
    : args.find((word) => word.startsWith("--store="))?.slice("--store=".length);
  const location = given ?? env["CHIPBOARD_STORE"] ?? "./snapshots";
  if (/^\w+:/.test(location)) return done;
  const folder = resolve(cwd, location);
  const isNew = !existsSync(folder);
  const store = new FolderStore(folder);
  const isBegun = await begin(store).catch(() => false);
  if (!isBegun) return done;
  return async () => {
    const keys = await Array.fromAsync(store.list(""), ({ key }) => key).catch(() => []);
    if (keys.some((key) => key !== STORE_MARK)) return;
    await store.delete(STORE_MARK).catch(() => {});
    if (isNew) await rmdir(folder).catch(() => {});
  };
}
