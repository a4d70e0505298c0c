import { open } from "node:fs/promises";
import { errorCode } from "./errors.ts";

/**
 * Makes the names in folders durable. Callers that ask for a folder while a sync of it runs share the
 * next sync: a call returns only after a sync that began after it.
 */
export class DirectorySync {
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  /** On return, every name that these folders had at the call is durable. */
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
  // A folder that has been removed has no names to make durable.
  const handle = await open(folder, "r").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (handle === null) return;
  try {
    await handle.sync();
  } catch (error) {
    // Some file systems cannot sync folders, and do not need it.
    if (!["EINVAL", "ENOTSUP"].includes(errorCode(error))) throw error;
  } finally {
    await handle.close();
  }
}
