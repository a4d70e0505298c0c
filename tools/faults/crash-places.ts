/** The kinds of store that faults are injected into: a folder, a real S3 server. */
import { randomUUID } from "node:crypto";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { testService } from "../../test/services/services.ts";
import type { FaultRow } from "./fault.ts";

/** A kind of store. Makes copies of a prepared store, so that each fault gets its own. */
export interface Place {
  readonly name: "folder" | "S3";
  /** A new, empty store. */
  empty(): Promise<ObjectStore>;
  /** A new store with the content of `original`, which is of the same kind. */
  copy(original: ObjectStore): Promise<ObjectStore>;
  /** Another store object for the same content, like another process's. */
  again(store: ObjectStore): Promise<ObjectStore>;
  remove(store: ObjectStore): Promise<void>;
}

/** Stores in folders of `parent`. Copies keep the times of the files. */
export function folderPlace(parent: string): Place {
  const fresh = (): string => join(parent, randomUUID());
  return {
    name: "folder",
    empty: async () => new FolderStore(fresh()),
    copy: async (original) => {
      const to = fresh();
      await cp(original.location, to, { recursive: true, preserveTimestamps: true });
      return new FolderStore(to);
    },
    again: async ({ location }) => new FolderStore(location),
    remove: ({ location }) => rm(location, { recursive: true, force: true }),
  };
}

/**
 * Runs the task with stores in the tests' S3 server, and returns its rows. Skips it, and says so, if the
 * server's programs are not installed. Meanwhile this process's environment has the server's keys and address.
 */
export async function withS3(
  say: (text: string) => void,
  task: (place: Place) => Promise<FaultRow[]>,
): Promise<FaultRow[]> {
  const service = testService("s3");
  if (service === null) {
    say("not injected: faults on S3 (its server is not installed)");
    return [];
  }
  const before = { ...process.env };
  Object.assign(process.env, service.env);
  try {
    const bucket = service.env["CHIPBOARD_TEST_S3_BUCKET"] ?? "";
    const fresh = (): Promise<ObjectStore> => openS3(`s3://${bucket}/${randomUUID()}`);
    return await task({
      name: "S3",
      empty: fresh,
      copy: async (original) => copied(original, await fresh()),
      again: ({ location }) => openS3(location),
      remove: (store) => store.close(),
    });
  } finally {
    for (const name of Object.keys(service.env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    service.stop();
  }
}

/** Opens a folder, or a bucket of the server that the environment names. */
export const openPlaced = (location: string): Promise<ObjectStore> =>
  location.startsWith("s3://") ? openS3(location) : openStore(location);

const openS3 = (location: string): Promise<ObjectStore> =>
  openStore(location, {
    endpoint: process.env["CHIPBOARD_TEST_S3_ENDPOINT"],
    region: process.env["AWS_REGION"],
    pathStyle: true,
  });

/** Copies every object to `to`, which dates the copies by its own clock. */
export async function copied<Store extends ObjectStore>(
  from: ObjectStore,
  to: Store,
): Promise<Store> {
  const keys: string[] = [];
  for await (const { key } of from.list("")) keys.push(key);
  await Promise.all(
    keys.map(async (key) => {
      const bytes = await from.get(key);
      if (bytes === null) throw new Error(`${key} was removed while it was copied`);
      await to.create(key, bytes);
    }),
  );
  return to;
}
