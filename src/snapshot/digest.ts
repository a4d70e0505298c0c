/** SHA-256 digests. */
import { hash } from "node:crypto";

/** SHA-256 (FIPS 180-4) in lower-case hex. */
export const sha256Hex = (data: string | Uint8Array): string => hash("sha256", data);
