/**
 * Client addresses are counted under a keyed hash and never stored. The month is part of what is
 * hashed, so that counts of two months cannot be joined.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Subject } from "./gatekeeper.ts";
import { monthOf } from "./month.ts";

const SUBJECT_BYTES = 16;

/** A secret for a new state, in hex. */
export const createAddressSecret = (): string => randomBytes(32).toString("hex");

/** The subject of a normalised address at `atMs`: HMAC-SHA-256 (RFC 2104), 128 bits of it. */
export function addressSubject(secret: string, address: string, atMs: number): Subject {
  const digest = createHmac("sha256", secret)
    .update(`${monthOf(atMs)} ${address}`)
    .digest();
  return `address:${digest.subarray(0, SUBJECT_BYTES).toString("base64url")}`;
}
