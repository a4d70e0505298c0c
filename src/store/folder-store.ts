/**
 * A store in a folder of a local file system, or of a shared one that works like a local one:
 *
 *   snapshots/publications/0000000042.json   an object; its key is the path below the folder
 *   snapshots/.tmp-3f0c…                     an object that is being written; readers skip hidden names
 *
 * `create` writes an object under a hidden name, makes it durable, and names it with link(2), which
 * fails if the name exists. So a name appears with all its bytes, exactly one of several racers
 * creates it, and a crash leaves at most a hidden file. `prove` removes such files after an hour.
 */
import { randomUUID } from "node:crypto";
import { existsSync, type Dirent } from "node:fs";
import { access, constants, link, lstat, mkdir, open, readdir } from "node:fs/promises";
import { rmdir, stat, unlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import pLimit from "p-limit";
import { HOUR_MS } from "../lib/clock.ts";
import { DamageError, errorCode, UnreachableError } from "../lib/errors.ts";
import { byteStream } from "./byte-stream.ts";
import { DirectorySync } from "../lib/directory-sync.ts";
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from "../lib/modes.ts";
import { folderError } from "./folder-error.ts";
import { openFile, type OpenFile } from "./folder-file.ts";
import { isKey, isSegment, requireKey } from "./object-keys.ts";
import { tooLarge, WHOLE_BYTES_MAX, type ObjectPart } from "../ports/store.ts";
import type { ObjectStore, OpenObject, StoredObject } from "../ports/store.ts";

const TEMPORARY = ".tmp-";
const STALE_MS = HOUR_MS;
/** Limits the open files. The thread pool limits the speed. */
const MAX_AT_ONCE = 32;
/** A prune can remove a folder before it is used, but not again and again. */
const MAX_ATTEMPTS = 10;

export class FolderStore implements ObjectStore {
  readonly location: string;
  /** The store in messages. */
  readonly #place: string;
  readonly #root: string;
  readonly #limit = pLimit(MAX_AT_ONCE);
  readonly #sync = new DirectorySync();

  /**
   * `location` is the folder's path. A missing folder is an empty store; the first write creates it.
   * `option` is what named the location on the command line.
   */
  constructor(location: string, option = "--store") {
    this.location = location;
    this.#place = `${option} ${JSON.stringify(location)}`;
    this.#root = resolve(location);
  }

  async get(key: string, bytesMax = WHOLE_BYTES_MAX, part?: ObjectPart): Promise<Buffer | null> {
    return this.#limit(async () => {
      const file = await this.#open(key);
      if (file === null) return null;
      try {
        const { at, end } = part ?? { at: 0, end: file.sizeBytes };
        if (end - at <= bytesMax) return await file.bytes(at, end);
        throw tooLarge(`${this.location}/${key}`, end - at, bytesMax);
      } catch (error) {
        throw folderError(this.#place, "read", key, error);
      } finally {
        await file.close();
      }
    });
  }

  async open(key: string): Promise<OpenObject | null> {
    const file = await this.#open(key);
    if (file === null) return null;
    const read = () =>
      file.piece().catch((error: unknown) => {
        throw folderError(this.#place, "read", key, error);
      });
    return { sizeBytes: file.sizeBytes, stream: byteStream({ read, close: file.close }) };
  }

  async create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    requireKey(key);
    return this.#limit(async () => {
      try {
        const temporary = await this.#writeTemporary(bytes);
        try {
          return await this.#name(temporary, key);
        } finally {
          // If this fails, the outcome still stands, and `prove` removes the hidden file later.
          await unlink(temporary).catch(() => {});
        }
      } catch (error) {
        throw folderError(this.#place, "write", key, error);
      }
    });
  }

  list(prefix: string): AsyncIterable<StoredObject> {
    return this.#walk("", prefix);
  }

  /** Also removes the folders that become empty. */
  async delete(key: string): Promise<void> {
    if (!isKey(key)) return;
    try {
      await unlink(this.#path(key));
      for (let folder = dirname(key); folder !== "."; folder = dirname(folder)) {
        await rmdir(this.#path(folder));
      }
    } catch (error) {
      if (["ENOENT", "ENOTEMPTY", "EEXIST"].includes(errorCode(error))) return;
      throw folderError(this.#place, "remove", key, error);
    }
  }

  /** Creates the folder if it is missing. The folder stays. */
  async prove(): Promise<void> {
    const probe = join(this.#root, `.probe-${randomUUID()}`);
    try {
      const temporary = await this.#writeTemporary(Buffer.from("probe\n"));
      try {
        await this.#proveLink(temporary, probe);
        await this.#sync.sync(this.#root);
        await this.#sweep(temporary);
      } finally {
        await unlink(temporary);
        await unlink(probe).catch(() => {});
      }
      for (const entry of await readdir(this.#root, { withFileTypes: true })) {
        if (!entry.isDirectory() || !isSegment(entry.name)) continue;
        const folder = join(this.#root, entry.name);
        await access(folder, constants.W_OK | constants.X_OK).catch((error: unknown) => {
          // Another process has removed the last object in it.
          if (errorCode(error) !== "ENOENT") throw error;
        });
      }
    } catch (error) {
      throw folderError(this.#place, "write", null, error);
    }
  }

  /** Checks that the folder, or the nearest existing one above it, accepts new entries. */
  async mayWrite(): Promise<void> {
    for (let folder = this.#root; ; folder = dirname(folder)) {
      try {
        return await access(folder, constants.W_OK | constants.X_OK);
      } catch (error) {
        if (errorCode(error) === "ENOENT" && dirname(folder) !== folder) continue;
        throw folderError(this.#place, "write", null, error);
      }
    }
  }

  async close(): Promise<void> {}

  async #open(key: string): Promise<OpenFile | null> {
    if (!isKey(key)) return null;
    const file = await openFile(this.#root, key).catch((error) => this.#absent(key, error));
    if (typeof file !== "string") return file;
    throw new DamageError(`${this.location}/${key} is ${file}, expected a file`);
  }

  #path(key: string): string {
    return join(this.#root, key);
  }

  /** Null if the error says that there is no such object; throws the error otherwise. */
  #absent(key: string, error: unknown): null {
    if (["ENOENT", "EISDIR"].includes(errorCode(error))) return null;
    throw folderError(this.#place, "read", key, error);
  }

  /** Writes a hidden file whose content is durable, and returns its path. Leaves no file on failure. */
  async #writeTemporary(bytes: Uint8Array): Promise<string> {
    const path = join(this.#root, `${TEMPORARY}${randomUUID()}`);
    const file = await this.#inFolder(this.#root, () => open(path, "wx", PRIVATE_FILE_MODE));
    try {
      await file.writeFile(bytes);
      await file.sync();
    } catch (error) {
      await unlink(path).catch(() => {});
      throw error;
    } finally {
      await file.close();
    }
    return path;
  }

  /** Gives the file its final name. On return the name is durable, even if another process gave it. */
  async #name(temporary: string, key: string): Promise<"created" | "taken"> {
    const path = this.#path(key);
    const outcome = await this.#inFolder(dirname(path), async () => {
      try {
        await link(temporary, path);
        return "created";
      } catch (error) {
        if (errorCode(error) === "EEXIST") return "taken";
        throw error;
      }
    });
    await this.#sync.sync(...foldersOf(key).map((folder) => this.#path(folder)));
    return outcome;
  }

  /** Runs an action that needs the folder. If the folder is missing, creates it durably. */
  async #inFolder<T>(folder: string, action: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await action();
      } catch (error) {
        if (errorCode(error) !== "ENOENT" || attempt === MAX_ATTEMPTS) throw error;
      }
      const made = await makeFolders(folder);
      if (made.length > 0) await this.#sync.sync(...made, dirname(made[0] as string));
    }
  }

  async #proveLink(temporary: string, probe: string): Promise<void> {
    await link(temporary, probe);
    try {
      await link(temporary, probe);
    } catch (error) {
      if (errorCode(error) === "EEXIST") return;
      throw error;
    }
    throw new UnreachableError(
      `${this.#place}: link(2) replaces an existing file here, so publishing is unsafe; expected a local file system`,
    );
  }

  /** Removes the leftovers of crashed runs. `fresh`, a new file, tells the file system's own time. */
  async #sweep(fresh: string): Promise<void> {
    const { mtimeMs: now } = await stat(fresh);
    for (const name of await readdir(this.#root)) {
      if (!name.startsWith(TEMPORARY) && !name.startsWith(".probe-")) continue;
      const path = join(this.#root, name);
      const status = await lstat(path).catch(() => null);
      // Another run may have removed it, or another user may own it. It does no harm.
      if (status !== null && status.mtimeMs < now - STALE_MS) await unlink(path).catch(() => {});
    }
  }

  /** The objects below `folder` ("" or ending in "/") that start with `prefix`. */
  async *#walk(folder: string, prefix: string): AsyncIterable<StoredObject> {
    const entries = await this.#entries(folder);
    const keys = entries.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`);
    keys.sort();
    for (let from = 0; from < keys.length; from += MAX_AT_ONCE) {
      const some = keys.slice(from, from + MAX_AT_ONCE);
      const objects = await Promise.all(some.map((key) => this.#stored(key, prefix)));
      for (const [at, key] of some.entries()) {
        const isFolder = key.endsWith("/") && (key.startsWith(prefix) || prefix.startsWith(key));
        const object = objects[at] ?? null;
        if (isFolder) yield* this.#walk(key, prefix);
        else if (object !== null) yield object;
      }
    }
  }

  /** The object, or null for a folder, a key without the prefix, and an object that is gone. */
  async #stored(key: string, prefix: string): Promise<StoredObject | null> {
    if (key.endsWith("/") || !key.startsWith(prefix)) return null;
    const status = await lstat(this.#path(key)).catch((error) => this.#absent(key, error));
    return status && { key, sizeBytes: status.size };
  }

  async #entries(folder: string): Promise<Dirent[]> {
    try {
      const entries = await readdir(this.#path(folder), { withFileTypes: true });
      return entries.filter(
        (entry) => isSegment(entry.name) && (entry.isFile() || entry.isDirectory()),
      );
    } catch (error) {
      if (errorCode(error) === "ENOENT") return [];
      throw folderError(this.#place, "list", folder, error);
    }
  }
}

/** `a/b/c.json` → `a/b`, `a` and the store's own folder. */
function foldersOf(key: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(key); folder !== "."; folder = dirname(folder)) folders.push(folder);
  return [...folders, ""];
}

/**
 * Creates a folder and the missing ones above it; returns them, from the top. Node's recursive mkdir
 * never ends if a parent exists and the system still says ENOENT, as in /proc.
 */
async function makeFolders(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = folder; !existsSync(at) && dirname(at) !== at; at = dirname(at))
    missing.unshift(at);
  for (const at of missing) {
    await mkdir(at, PRIVATE_FOLDER_MODE).catch((error: unknown) => {
      // Another process creates folders, and removes those that are empty: then the caller tries again.
      if (!["EEXIST", "ENOENT"].includes(errorCode(error))) throw error;
    });
  }
  return missing;
}
