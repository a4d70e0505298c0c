/**
 * The facts that proxies keep in the state beside accounts and keys. They are the secret that client addresses
 * are hashed with, and the newest entry of the log that they have accepted (snapshot/log/seen.ts).
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Storage } from "unstorage";
import { z } from "zod";
import { newerSeen, seenEntry, type SeenEntry } from "../snapshot/log/seen.ts";
import { change, find } from "./accounts.ts";
import type { StateDriver, Subject } from "./driver.ts";
import { monthOf } from "./month.ts";

const SUBJECT_BYTES = 16;
const SECRET_ITEM = "facts:address-secret";
const secretRecord = z.object({ secret: z.string() });
/** The name of the item that holds the entry of the log. */
export const SEEN_ITEM = "facts:seen-entry";

/** The state's secret, in hex. A state without one gets `proposed`, as soon as it takes writes. */
export async function addressSecret(
  state: StateDriver,
  proposed = randomBytes(32).toString("hex"),
): Promise<string> {
  try {
    return await change(state, async (write) => {
      const held = await find(state.storage, secretRecord, SECRET_ITEM);
      return (held ?? write(SECRET_ITEM, { secret: proposed })).secret;
    });
  } catch (error) {
    if (state.refusal(error) === null) throw error;
    return proposed;
  }
}

/**
 * The subject of a normalised address at `atMs`: the first 128 bits of an HMAC-SHA-256 (RFC 2104). No
 * address is stored, and because of the month nobody can join the counts of two months.
 */
export function addressSubject(secret: string, address: string, atMs: number): Subject {
  const digest = createHmac("sha256", secret)
    .update(`${monthOf(atMs)} ${address}`)
    .digest();
  return `address:${digest.subarray(0, SUBJECT_BYTES).toString("base64url")}`;
}

/** The entry that the state has seen; null: none. */
export const seenIn = (storage: Storage): Promise<SeenEntry | null> =>
  find(storage, seenEntry, SEEN_ITEM);

export const see = (state: StateDriver, entry: SeenEntry): Promise<SeenEntry> =>
  change(state, async (write) => {
    const newer = newerSeen(await seenIn(state.storage), entry);
    return newer === entry ? write(SEEN_ITEM, entry) : newer;
  });

/** Forgets the entry. Returns it; null: none was seen. */
export const forgetSeen = (state: StateDriver): Promise<SeenEntry | null> =>
  change(state, async (write) => {
    const held = await seenIn(state.storage);
    if (held !== null) write(SEEN_ITEM, null);
    return held;
  });
