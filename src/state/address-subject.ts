/**
 * The state counts client addresses under a keyed hash and never stores them. The hash includes the
 * month, so that nobody can join the counts of two months.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Subject } from "./gatekeeper.ts";
import { monthOf } from "./month.ts";

const SUBJECT_BYTES = 16;

/** A secret for a new state, in hex. */
export const createAddressSecret = (): string => randomBytes(32).toString("hex");

/** The subject of a normalised address at `atMs`: the first 128 bits of an HMAC-SHA-256 (RFC 2104). */
export function addressSubject(secret: string, address: string, atMs: number): Subject {
  const digest = createHmac("sha256", secret)
    .update(`${monthOf(atMs)} ${address}`)
    .digest();
  return `address:${digest.subarray(0, SUBJECT_BYTES).toString("base64url")}`;
}
