import { open } from "node:fs/promises";
import { errorCode } from "../errors.ts";

/**
 * Makes the names in folders durable. Callers that ask for one folder while it is being synced
 * share the next round: each returns only after a sync that began after it asked.
 */
export class DirectorySync {
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  /** On return every name that was in these folders at the call is durable. */
  async sync(...folders: readonly string[]): Promise<void> {
    await Promise.all(folders.map((folder) => this.#join(folder)));
  }

  #join(folder: string): Promise<void> {
    const running = this.#running.get(folder);
    if (running === undefined) return this.#start(folder);
    const next = this.#next.get(folder);
    if (next !== undefined) return next;
    const round = running
      .catch(() => {})
      .then(() => {
        this.#next.delete(folder);
        return this.#start(folder);
      });
    this.#next.set(folder, round);
    return round;
  }

  #start(folder: string): Promise<void> {
    const round = syncFolder(folder).finally(() => this.#running.delete(folder));
    this.#running.set(folder, round);
    return round;
  }
}

async function syncFolder(folder: string): Promise<void> {
  // A folder that was removed meanwhile holds no name to keep.
  const handle = await open(folder, "r").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (handle === null) return;
  try {
    await handle.sync();
  } catch (error) {
    // Some file systems know no sync of folders and need none.
    if (!["EINVAL", "ENOTSUP"].includes(errorCode(error))) throw error;
  } finally {
    await handle.close();
  }
}
