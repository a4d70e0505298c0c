/** The secret that client addresses are hashed with: each state has its own. */
import { createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { monthOf } from "../ports/month.ts";
import type { StateDriver, Subject } from "../ports/state.ts";
import { change, find } from "./accounts.ts";

const SUBJECT_BYTES = 16;
const SECRET_ITEM = "facts:address-secret";
const secretRecord = z.object({ secret: z.string() });

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
