/**
 * Keys that sign the log: Ed25519 (RFC 8032) in PEM (RFC 7468). Private keys are PKCS#8, public
 * keys SubjectPublicKeyInfo (RFC 8410), as openssl makes and reads them.
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from "node:crypto";
import { InputError } from "../lib/errors.ts";
import { sha256Hex } from "./digest.ts";

export interface VerifyKey {
  readonly key: KeyObject;
  /** SHA-256 (hex) of the key's SubjectPublicKeyInfo in DER. */
  readonly fingerprint: string;
  /** The key as a block of PEM, with its line end. */
  readonly pem: string;
}

export interface SigningKey {
  readonly key: KeyObject;
  readonly verifyKey: VerifyKey;
}

export function newKeyPair(): { privatePem: string; publicPem: string; fingerprint: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
    fingerprint: verifyKeyOf(publicKey).fingerprint,
  };
}

/**
 * Reads the private key in the text of a PEM file. Throws InputError, naming `where`, unless the file
 * holds exactly one block: an Ed25519 private key without a passphrase. The error reveals nothing of
 * the key.
 */
export function parseSigningKey(pem: string, where: string): SigningKey {
  const expected = `${where}: expected an Ed25519 private key (PEM, PKCS#8)`;
  const keys = keysIn(pem, "PRIVATE KEY", createPrivateKey, expected);
  const [key] = keys;
  if (key === undefined || keys.length > 1) {
    throw new InputError(`${expected}, found ${keys.length} PEM blocks`);
  }
  return { key, verifyKey: verifyKeyOf(createPublicKey(key)) };
}

/**
 * Reads the public keys in the text of a PEM file, in file order. Throws InputError, naming `where`,
 * unless the file holds at least one Ed25519 public key and no other block.
 */
export function parseVerifyKeys(pem: string, where: string): readonly VerifyKey[] {
  const expected = `${where}: expected Ed25519 public keys (PEM)`;
  const keys = keysIn(pem, "PUBLIC KEY", createPublicKey, expected);
  if (keys.some(isOfSmallOrder)) {
    throw new InputError(`${expected}, found a point of small order: everybody can sign for it`);
  }
  return keys.map(verifyKeyOf);
}

/** The keys as one text of PEM. */
export const pemOf = (keys: readonly VerifyKey[]): string => keys.map(({ pem }) => pem).join("");

/**
 * The y coordinates, little-endian, of the points whose order divides 8, also where y is written as
 * y + p. For such a key, openssl accepts signatures that nobody needed a private key for.
 */
const SMALL_ORDER =
  /^(0[01](00){31}|e[cde](ff){30}7f|26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05|c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a)$/;

function isOfSmallOrder(key: KeyObject): boolean {
  const point = key.export({ type: "spki", format: "der" }).subarray(-32);
  // The highest bit is the sign of x (RFC 8032, 5.1.2).
  const y = Buffer.concat([point.subarray(0, 31), Buffer.from([(point[31] as number) & 0x7f])]);
  return SMALL_ORDER.test(y.toString("hex"));
}

/** The keys of all PEM blocks, at least one. Text around the blocks is a comment (RFC 7468, 2). */
function keysIn(
  pem: string,
  wanted: "PRIVATE KEY" | "PUBLIC KEY",
  parse: (pem: string) => KeyObject,
  expected: string,
): readonly KeyObject[] {
  const blocks = [...pem.matchAll(/^-----BEGIN ([^-\r\n]+)-----[^]*?^-----END \1-----/gm)];
  const begun = [...pem.matchAll(/^-----BEGIN /gm)].length;
  if (begun === 0) throw new InputError(`${expected}, found no PEM block`);
  if (blocks.length < begun) throw new InputError(`${expected}, found a PEM block without its end`);
  return blocks.map(([text, label = ""]) => {
    if (label !== wanted) throw new InputError(`${expected}, found ${nameOf(label, text, wanted)}`);
    let key: KeyObject;
    try {
      key = parse(text);
    } catch (cause) {
      throw new InputError(`${expected}, found a PEM block that cannot be read`, [], { cause });
    }
    if (key.asymmetricKeyType === "ed25519") return key;
    throw new InputError(`${expected}, found a key of type "${key.asymmetricKeyType}"`);
  });
}

/** What a block is that is not the wanted one, and the way on. */
function nameOf(label: string, text: string, wanted: "PRIVATE KEY" | "PUBLIC KEY"): string {
  if (wanted === "PUBLIC KEY" && label.endsWith("PRIVATE KEY")) {
    return (
      "a private key: give the public one, which openssl pkey -in FILE -pubout prints; " +
      "the private one belongs where publish runs"
    );
  }
  if (label === "PUBLIC KEY") return "a public key: give the private one it belongs to";
  if (label !== "ENCRYPTED PRIVATE KEY" && !/^Proc-Type: 4,ENCRYPTED/m.test(text))
    return `"${label}"`;
  return (
    "an encrypted one, which is not supported: " +
    "openssl pkey -in FILE -out PLAIN asks for its passphrase and removes it"
  );
}

const verifyKeyOf = (key: KeyObject): VerifyKey => ({
  key,
  fingerprint: sha256Hex(key.export({ type: "spki", format: "der" })),
  pem: key.export({ type: "spki", format: "pem" }).toString(),
});
