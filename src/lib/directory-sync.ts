/** Makes the names in folders durable, with one sync for many callers. */
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
    const next = this.#next.get(folder) ?? this.#after(this.#running.get(folder), folder);
    this.#next.set(folder, next);
    return next;
  }

  async #after(running: Promise<void> | undefined, folder: string): Promise<void> {
    await running?.catch(() => {});
    this.#next.delete(folder);
    const round = syncFolder(folder).finally(() => this.#running.delete(folder));
    this.#running.set(folder, round);
    await round;
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
