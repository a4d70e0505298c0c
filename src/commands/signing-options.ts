/** The options that name keys for signed snapshots, and the files that they name. */
import { open, readFile, type FileHandle } from "node:fs/promises";
import type { Option } from "commander";
import { setting } from "../config.ts";
import { InputError } from "../errors.ts";
import {
  parseSigningKey,
  parseVerifyKeys,
  type SigningKey,
  type VerifyKey,
} from "../snapshot/signing-key.ts";
import { readable } from "./option-files.ts";

/** Bits of a file's mode that let its group, and everybody, at it. */
const GROUP_AND_OTHERS = 0o077;
const OTHERS = 0o007;

/** What `--verify-key` gives: the path of a file. */
export interface VerifyKeyOptions {
  readonly verifyKey?: string;
}

/** What the options of signing give: paths of files. */
export interface PublishingKeyOptions extends VerifyKeyOptions {
  readonly signKey?: string;
}

/** `--sign-key`, for the one command that makes signatures. */
export const signKeyOption = (): Option =>
  setting("--sign-key <file>", "sign the snapshot with this private key (Ed25519, PEM)");

/** `effect` says what is refused where no key in the file has signed. */
export const verifyKeyOption = (effect: string): Option =>
  setting("--verify-key <file>", `${effect} (Ed25519, PEM, one or more)`);

/**
 * The key to sign with, and those that the head must be signed with; null without their option.
 * Throws InputError where a file is not fit for that, or the two do not belong together.
 */
export async function publishingKeysFrom(
  options: PublishingKeyOptions,
): Promise<{ signingKey: SigningKey | null; verifyKeys: readonly VerifyKey[] | null }> {
  const signingKey = options.signKey === undefined ? null : await signingKeyFrom(options.signKey);
  const verifyKeys = await verifyKeysFrom(options);
  const own = signingKey?.verifyKey.fingerprint;
  if (own === undefined || (verifyKeys?.some(({ fingerprint }) => fingerprint === own) ?? true)) {
    return { signingKey, verifyKeys };
  }
  throw new InputError(
    `--verify-key ${JSON.stringify(options.verifyKey)}: expected the public key of --sign-key, ` +
      `${own}, among others; the next publish would refuse what this one signs`,
  );
}

/** The public keys, or null without the option. Throws InputError where there are none. */
export async function verifyKeysFrom({
  verifyKey: path,
}: VerifyKeyOptions): Promise<readonly VerifyKey[] | null> {
  if (path === undefined) return null;
  const where = `--verify-key ${JSON.stringify(path)}`;
  return parseVerifyKeys(await readable(where, () => readFile(path, "utf8")), where);
}

async function signingKeyFrom(path: string): Promise<SigningKey> {
  const where = `--sign-key ${JSON.stringify(path)}`;
  return parseSigningKey(await readable(where, () => readPrivate(path, where)), where);
}

async function readPrivate(path: string, where: string): Promise<string> {
  const file = await open(path);
  try {
    const text = await file.readFile("utf8");
    // Whoever names the public one is told that, not to hide it.
    if (!text.includes("PUBLIC KEY")) await requirePrivate(file, path, where);
    return text;
  } finally {
    await file.close();
  }
}

/**
 * As ssh has it, but that nobody's file may be everybody's: one's own file is for oneself; one of
 * another owner, such as a mounted secret of root, may be let to a group.
 */
async function requirePrivate(file: FileHandle, path: string, where: string): Promise<void> {
  const { mode, uid } = await file.stat();
  const self = process.geteuid?.();
  // Without users there are no modes either.
  if (self === undefined || (mode & (uid === self ? GROUP_AND_OTHERS : OTHERS)) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, "0");
  throw new InputError(
    `${where} can be read by others (mode ${found}): expected 0600; ` +
      `chmod 600 ${JSON.stringify(path)}`,
  );
}
