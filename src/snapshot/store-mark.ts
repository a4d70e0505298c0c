/**
 * The mark of a store, which `store init` writes once:
 *
 *   store.json   {"id":"4c1f…","at":"2026-11-21T00:00:00.000Z"}
 *
 * A publish begins a log only in a store that has one: the empty folder of a disk that is missing has none. A copy
 * of the store has the same mark. Stores of releases before 0.4.0 have a log and no mark.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { instantText } from "../lib/clock.ts";
import { DamageError, UnfitError } from "../lib/errors.ts";
import type { ObjectStore } from "../ports/store.ts";
import { STORE_MARK } from "../store/paths.ts";
import { listLog } from "./log/walk.ts";

/** A mark has some 80 bytes. */
export const MARK_BYTES_MAX = 1_000;

const storeMark = z.object({ id: z.uuid(), at: z.iso.datetime({ precision: 3 }) });

/** The random id of the store; null: it has no mark. Throws DamageError if the mark cannot be read. */
export async function readStoreId(store: ObjectStore): Promise<string | null> {
  const bytes = await store.get(STORE_MARK, MARK_BYTES_MAX);
  if (bytes === null) return null;
  try {
    return storeMark.parse(JSON.parse(bytes.toString("utf8"))).id;
  } catch (cause) {
    throw new DamageError(`${store.location}/${STORE_MARK} is not the mark of a store`, [], {
      cause,
    });
  }
}

/**
 * Gives a store without entries its mark, and returns whether it did: a store with a mark or an entry stays as it
 * is. Throws UnreachableError if the store cannot be written.
 */
export async function markStore(
  store: ObjectStore,
  nowMs: number,
  id: string = randomUUID(),
): Promise<boolean> {
  if ((await readStoreId(store)) !== null || (await listLog(store)).newest > 0) return false;
  const mark = { id, at: instantText(nowMs) } satisfies z.infer<typeof storeMark>;
  return (await store.create(STORE_MARK, Buffer.from(`${JSON.stringify(mark)}\n`))) === "created";
}

/** Throws UnfitError if a store without entries has no mark, and DamageError if that cannot be read. */
export async function requireStoreMark(store: ObjectStore): Promise<void> {
  if ((await readStoreId(store)) !== null) return;
  throw new UnfitError(
    `${store.location} holds no log and no mark of a store. If it held publications before, its disk or bucket is ` +
      'missing: bring it back. If the store is new, run "chipboard store init" once, then publish',
  );
}
