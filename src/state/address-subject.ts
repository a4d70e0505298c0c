/**
 * The state counts client addresses under a keyed hash and never stores them. The hash includes the
 * month, so that nobody can join the counts of two months.
 */
import { createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { FACTS, find } from "./accounts.ts";
import { change } from "./change.ts";
import type { StateDriver, Subject } from "./driver.ts";
import { monthOf } from "./month.ts";

const SUBJECT_BYTES = 16;

const SECRET_ITEM = `${FACTS}address-secret`;
const secretRecord = z.object({ secret: z.string() });

/** The state's secret, in hex. A state without one gets `proposed`. */
export const addressSecret = (
  state: StateDriver,
  proposed = randomBytes(32).toString("hex"),
): Promise<string> =>
  change(state, async () => {
    const held = await find(state.storage, secretRecord, SECRET_ITEM);
    if (held !== null) return { writes: new Map(), result: held.secret };
    return { writes: new Map([[SECRET_ITEM, { secret: proposed }]]), result: proposed };
  });

/** The subject of a normalised address at `atMs`: the first 128 bits of an HMAC-SHA-256 (RFC 2104). */
export function addressSubject(secret: string, address: string, atMs: number): Subject {
  const digest = createHmac("sha256", secret)
    .update(`${monthOf(atMs)} ${address}`)
    .digest();
  return `address:${digest.subarray(0, SUBJECT_BYTES).toString("base64url")}`;
}
