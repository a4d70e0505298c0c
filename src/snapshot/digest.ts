/** SHA-256 digests, and the header field that shows one. */
import { hash } from "node:crypto";

/** SHA-256 (FIPS 180-4) in lower-case hex. */
export const sha256Hex = (data: string | Uint8Array): string => hash("sha256", data);

/**
 * The value of Unencoded-Digest (draft-ietf-httpbis-unencoded-digest) for a SHA-256 (hex): it is over the
 * bytes without content coding. RFC 9530, 2 defines its form.
 */
export const digestField = (sha256: string): string =>
  `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`;
