/** A signing key that is the same in every process. It guards nothing: everybody can make it. */
import { createPrivateKey } from "node:crypto";
import type { LogKeys } from "../../src/snapshot/log/sign.ts";
import { parseSigningKey } from "../../src/snapshot/signing-key.ts";

/** PKCS#8 of an Ed25519 key (RFC 8410) up to its 32 bytes. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");
const PRIVATE = createPrivateKey({
  key: Buffer.concat([PKCS8, Buffer.alloc(32, "golden")]),
  format: "der",
  type: "pkcs8",
});

export const GOLDEN_KEY = parseSigningKey(
  String(PRIVATE.export({ format: "pem", type: "pkcs8" })),
  "the golden key",
);

/** Signs with the key. */
export const SIGNED: LogKeys = { signingKey: GOLDEN_KEY, verifyKeys: null };

/** Signs with the key, and goes on only from entries that it signed. */
export const STRICT: LogKeys = { signingKey: GOLDEN_KEY, verifyKeys: [GOLDEN_KEY.verifyKey] };
