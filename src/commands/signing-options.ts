/** The options for signing keys, and the files that they name. */
import { open, type FileHandle } from "node:fs/promises";
import { delimiter } from "node:path";
import { buffer as bytesOf } from "node:stream/consumers";
import type { Option } from "commander";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import type { LogKeys } from "../snapshot/log/sign.ts";
import {
  parseSigningKey,
  parseVerifyKeys,
  type SigningKey,
  type VerifyKey,
} from "../snapshot/signing-key.ts";
import { readable } from "./option-files.ts";

/** A file of keys has a few hundred bytes, and text around them. */
const FILE_BYTES_MAX = 1_000_000;

/** Bits of a file's mode for its group and others, and for others. */
const GROUP_AND_OTHERS = 0o077;
const OTHERS = 0o007;

export interface VerifyKeyOptions {
  readonly verifyKey?: readonly string[];
}

/** The values of both options: paths of files. */
export interface LogKeyOptions extends VerifyKeyOptions {
  readonly signKey?: string;
}

/** The value of `--remember`: the path of a file. */
export interface RememberOption {
  readonly remember?: string;
}

/** `--sign-key`, for the commands that append to the log. */
export const signKeyOption = (): Option =>
  createOption("--sign-key <file>", "sign the log's entry with this private key (Ed25519, PEM)");

/**
 * `--verify-key`, once or repeated, or several files in one text, as in PATH. `effect` says what the command
 * refuses without a signature of one of the keys.
 */
export const verifyKeyOption = (effect: string): Option =>
  createOption(
    "--verify-key <file>",
    `${effect} (Ed25519, PEM, one or more: FILE${delimiter}FILE)`,
  ).argParser<string[] | undefined>((text, before = []) => [...before, ...text.split(delimiter)]);

/** `--remember`, for the commands that prove a log; they share the form of the file. */
export const rememberOption = (): Option =>
  createOption("--remember <file>", "keep the newest entry of the log here, for the next check");

/**
 * The key to sign with, and the keys one of which must have signed the log; null without their
 * option. Throws InputError if a file holds no such key, or if the two do not belong together.
 */
export async function logKeysFrom(options: LogKeyOptions): Promise<LogKeys> {
  const signingKey = options.signKey === undefined ? null : await signingKeyFrom(options.signKey);
  const verifyKeys = await verifyKeysFrom(options);
  if (signingKey === null && verifyKeys !== null) {
    throw new InputError(
      "--verify-key without --sign-key would append an unsigned entry; give both, or neither",
    );
  }
  const own = signingKey?.verifyKey.fingerprint;
  if (verifyKeys?.some(({ fingerprint }) => fingerprint === own) ?? true) {
    return { signingKey, verifyKeys };
  }
  throw new InputError(
    `--verify-key ${options.verifyKey?.map((path) => JSON.stringify(path)).join(", ")}: ` +
      "expected the public key of --sign-key, " +
      `${own}, in it; without it, the next run refuses the entry that this one signs`,
  );
}

/** The public keys of all files; null without the option. Throws InputError if a file holds none. */
export async function verifyKeysFrom({
  verifyKey: paths,
}: VerifyKeyOptions): Promise<readonly VerifyKey[] | null> {
  if (paths === undefined) return null;
  const keys: VerifyKey[] = [];
  for (const path of paths) {
    const where = `--verify-key ${JSON.stringify(path)}`;
    keys.push(...parseVerifyKeys(await readable(where, () => readKeys(path, where)), where));
  }
  return keys;
}

async function signingKeyFrom(path: string): Promise<SigningKey> {
  const where = `--sign-key ${JSON.stringify(path)}`;
  return parseSigningKey(await readable(where, () => readKeys(path, where, true)), where);
}

async function readKeys(path: string, where: string, isPrivate = false): Promise<string> {
  const file = await open(path);
  try {
    const stream = file.createReadStream({ end: FILE_BYTES_MAX, autoClose: false });
    const bytes = await bytesOf(stream);
    if (bytes.length > FILE_BYTES_MAX) {
      throw new InputError(
        `${where}: expected keys (PEM), found more than ${FILE_BYTES_MAX} bytes`,
      );
    }
    const text = bytes.toString("utf8");
    // The parser then says that this is the public key; its mode does not matter.
    if (isPrivate && !text.includes("PUBLIC KEY")) await requirePrivate(file, path, where);
    return text;
  } finally {
    await file.close();
  }
}

/**
 * Throws InputError if others can read a private key. The group may read a file of another owner,
 * such as a mounted secret of root; a file of one's own must be readable by its owner only.
 */
async function requirePrivate(file: FileHandle, path: string, where: string): Promise<void> {
  const { mode, uid } = await file.stat();
  const self = process.geteuid?.();
  // Systems without user ids (Windows) have no modes either.
  if (self === undefined || (mode & (uid === self ? GROUP_AND_OTHERS : OTHERS)) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, "0");
  throw new InputError(
    `${where} can be read by others (mode ${found}): expected 0600; ` +
      `chmod 600 ${JSON.stringify(path)}`,
  );
}
