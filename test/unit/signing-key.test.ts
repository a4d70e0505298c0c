/** PEM keys, compared with the examples of the standards and with openssl. */
import { createHash, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ChipboardError } from "../../src/lib/errors.ts";
import { newKeyPair, parseSigningKey, parseVerifyKeys } from "../../src/snapshot/signing-key.ts";

/** RFC 8410, 10.1 and 10.3: a pair of keys, and the private key with attributes and public key. */
const PUBLIC = pem("PUBLIC KEY", "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=");
const PRIVATE = pem(
  "PRIVATE KEY",
  "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC",
);
const PRIVATE_V2 = pem(
  "PRIVATE KEY",
  "MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n" +
    "oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\nZ9w7lshQhqowtrbLDFw4rXAxZuE=",
);
const DER = Buffer.from("MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=", "base64");
const FINGERPRINT = createHash("sha256").update(DER).digest("hex");

describe("valid keys", () => {
  test.each([
    ["as the RFC has it", PRIVATE],
    ["with attributes and public key", PRIVATE_V2],
    ["with CRLF", PRIVATE.replaceAll("\n", "\r\n")],
    ["with text around it", `Bag Attributes\n  friendlyName: signing\n${PRIVATE}\nkept safe\n`],
    ["without a last line end", PRIVATE.trimEnd()],
  ])("private key: %s", (_name, text) => {
    expect(parseSigningKey(text, "x").verifyKey.fingerprint).toBe(FINGERPRINT);
  });

  test("public keys: one, several in order, several with text between them", () => {
    expect(parseVerifyKeys(PUBLIC, "x").map(({ fingerprint }) => fingerprint)).toEqual([
      FINGERPRINT,
    ]);
    const other = newKeyPair();
    const text = `until spring\n${other.publicPem}from spring on\n${PUBLIC}`;
    const found = parseVerifyKeys(text, "x").map(({ fingerprint }) => fingerprint);
    expect(found).toEqual([other.fingerprint, FINGERPRINT]);
  });

  test("two new pairs differ, and the keys of each belong together", () => {
    const [one, two] = [newKeyPair(), newKeyPair()];
    expect(parseSigningKey(one.privatePem, "x").verifyKey.fingerprint).toBe(one.fingerprint);
    expect(parseVerifyKeys(one.publicPem, "x")[0]?.fingerprint).toBe(one.fingerprint);
    expect(two.fingerprint).not.toBe(one.fingerprint);
  });
});

const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 });
const x25519 = generateKeyPairSync("x25519");
const ed448 = generateKeyPairSync("ed448");
const encoded = (key: { export(as: object): string | Buffer }, type: string, more = {}): string =>
  String(key.export({ type, format: "pem", ...more }));
const LOCK = { cipher: "aes-256-cbc", passphrase: "secret" };
const OPENSSH = pem("OPENSSH PRIVATE KEY", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU=");

describe("invalid keys", () => {
  test.each([
    ["nothing", "", "found no PEM block"],
    ["text", "key: yes", "found no PEM block"],
    ["DER", DER.toString("latin1"), "found no PEM block"],
    ["an ssh public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA== me", "found no PEM block"],
    ["indented", PRIVATE.replaceAll(/^/gm, "  "), "found no PEM block"],
    ["cut off", PRIVATE.slice(0, 80), "found a PEM block without its end"],
    ["ended by another", PRIVATE.replace("END PRIVATE", "END PUBLIC"), "without its end"],
    ["two", PRIVATE + PRIVATE_V2, "found 2 PEM blocks"],
    ["public", PUBLIC, "found a public key: give the private one it belongs to"],
    ["RSA", encoded(rsa.privateKey, "pkcs8"), 'found a key of type "rsa"'],
    ["RSA in PKCS#1", encoded(rsa.privateKey, "pkcs1"), 'found "RSA PRIVATE KEY"'],
    ["X25519", encoded(x25519.privateKey, "pkcs8"), 'found a key of type "x25519"'],
    ["Ed448", encoded(ed448.privateKey, "pkcs8"), 'found a key of type "ed448"'],
    ["encrypted", encoded(ed448.privateKey, "pkcs8", LOCK), "found an encrypted one, which is not"],
    ["encrypted as of old", encoded(rsa.privateKey, "pkcs1", LOCK), "found an encrypted one"],
    ["of OpenSSH", OPENSSH, 'found "OPENSSH PRIVATE KEY"'],
    ["garbage", pem("PRIVATE KEY", "AAAA"), "found a PEM block that cannot be read"],
  ])("private key: %s", (_name, text, found) => {
    const message = refusal(() => parseSigningKey(text, '--sign-key "k.pem"'));
    expect(message).toContain(`--sign-key "k.pem": expected an Ed25519 private key (PEM, PKCS#8)`);
    expect(message).toContain(found);
  });

  test.each([
    ["nothing", "", "found no PEM block"],
    ["private", PRIVATE, "found a private key: give the public one, which openssl pkey"],
    ["private beside public", PUBLIC + PRIVATE, "found a private key"],
    ["encrypted private", encoded(ed448.privateKey, "pkcs8", LOCK), "found a private key"],
    ["RSA", encoded(rsa.publicKey, "spki"), 'found a key of type "rsa"'],
    ["RSA beside another", PUBLIC + encoded(rsa.publicKey, "spki"), 'found a key of type "rsa"'],
    ["a certificate", pem("CERTIFICATE", "AAAA"), 'found "CERTIFICATE"'],
    ["the second cut off", PUBLIC + PUBLIC.slice(0, 60), "found a PEM block without its end"],
    ["garbage", pem("PUBLIC KEY", "AAAA"), "found a PEM block that cannot be read"],
    ["all zeros", pointOf("00".repeat(32)), "found a point of small order: everybody can sign"],
    ["no line end before it", `\u{feff}${PUBLIC}`, "found no PEM block"],
  ])("public key: %s", (_name, text, found) => {
    const message = refusal(() => parseVerifyKeys(text, '--verify-key "k.pub"'));
    expect(message).toContain('--verify-key "k.pub": expected Ed25519 public keys (PEM), found ');
    expect(message).toContain(found);
  });
});

test("all points whose order divides 8 are refused, and no others", () => {
  const order8 = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
  const negated = (P - yOf(order8)) % P;
  const ys = [0n, 1n, P - 1n, yOf(order8), negated];
  for (const y of ys) expect(eightTimes(y), y.toString(16)).toBe(1n);
  for (const y of [...ys, P, P + 1n]) {
    for (const sign of [0n, 1n << 255n]) {
      const text = pointOf(littleEndian(y + sign));
      expect(refusal(() => parseVerifyKeys(text, "x"))).toContain("found a point of small order");
    }
  }
  const base = "58" + "66".repeat(31);
  expect(eightTimes(yOf(base))).not.toBe(1n);
  expect(parseVerifyKeys(pointOf(base), "x")).toHaveLength(1);
});

/** The field of the curve and the d of its equation (RFC 8032, 5.1). */
const P = 2n ** 255n - 19n;
const D = mod(-121665n * inverse(121666n));

/** The y coordinate of eight times a point: each step doubles it. 1: its order divides 8. */
function eightTimes(y: bigint): bigint {
  for (let step = 0; step < 3; step += 1) {
    const yy = mod(y * y);
    const xx = mod((yy - 1n) * inverse(mod(D * yy + 1n)));
    y = mod((yy + xx) * inverse(mod(2n + xx - yy)));
  }
  return y;
}

function mod(value: bigint): bigint {
  return ((value % P) + P) % P;
}

/** value ** (P − 2) */
function inverse(value: bigint): bigint {
  let result = 1n;
  for (let exponent = P - 2n, power = mod(value); exponent > 0n; exponent >>= 1n) {
    if (exponent & 1n) result = mod(result * power);
    power = mod(power * power);
  }
  return result;
}

const littleEndian = (value: bigint): string =>
  Buffer.from(value.toString(16).padStart(64, "0"), "hex").reverse().toString("hex");
const yOf = (hex: string): bigint =>
  BigInt(`0x${Buffer.from(hex, "hex").reverse().toString("hex")}`);

/** A public key with these 32 bytes. */
function pointOf(hex: string): string {
  return pem("PUBLIC KEY", `MCowBQYDK2VwAyEA${Buffer.from(hex, "hex").toString("base64")}`);
}

/** Expects `parse` to fail with a usage error; returns its message. */
function refusal(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    if (error instanceof ChipboardError && error.exitCode === 2) return error.message;
    throw error;
  }
  throw new Error("It was taken for a key");
}

function pem(label: string, base64: string): string {
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`;
}
