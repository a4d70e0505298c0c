/** The bytes of an entry of the log: how they are made and read, and which of them a signature covers. */
import { z } from "zod";
import { DamageError } from "../../lib/errors.ts";
import { tooLarge } from "../../ports/store.ts";
import { sha256Hex } from "../digest.ts";
import { ENTRY_BYTES_MAX, entrySchema, type Entry, type StoredEntry } from "./entry.ts";

const ACTIONS: readonly unknown[] = ["publish", "rollback", "prune"];

/** The last member: 64 bytes in Base64, in their one form. Before `==`, a character carries two bits. */
const SIGNATURE = /,"signature":"([A-Za-z0-9+/]{85}[AQgw]==)"\}\n$/;

/** The bytes of an entry without a signature. */
export const renderEntry = (entry: Entry): Buffer =>
  Buffer.from(`${JSON.stringify(z.encode(entrySchema, entry))}\n`);

/** The bytes of the entry without its signature: those that were signed. */
export const unsignedBytes = (bytes: Buffer, signature: string | null): Buffer =>
  signature === null
    ? bytes
    : Buffer.concat([
        bytes.subarray(0, -`,"signature":"${signature}"}\n`.length),
        Buffer.from("}\n"),
      ]);

/**
 * Reads the bytes of the entry with this number. Throws DamageError, naming `where`, if they are no
 * such entry, or one that this version does not know.
 */
export function parseEntry(bytes: Buffer, number: number, where: string): StoredEntry {
  if (bytes.length > ENTRY_BYTES_MAX) throw tooLarge(where, bytes.length, ENTRY_BYTES_MAX);
  const signature = SIGNATURE.exec(bytes.toString("latin1"))?.[1] ?? null;
  const entry = entryIn(unsignedBytes(bytes, signature), where);
  if (entry.number !== number) throw new DamageError(`${where} carries another number`);
  if ((entry.previous === null) !== (number === 1)) {
    throw new DamageError(`${where}: expected a previous in every entry but the first`);
  }
  return { entry, bytes, sha256: sha256Hex(bytes), signature, where };
}

function entryIn(unsigned: Buffer, where: string): Entry {
  const damage = (cause?: unknown): DamageError =>
    new DamageError(`${where} is not an entry of the log`, [], { cause });
  let value: unknown;
  try {
    value = JSON.parse(unsigned.toString("utf8"));
  } catch (cause) {
    throw damage(cause);
  }
  const fields: object = typeof value === "object" && value !== null ? value : {};
  const isRendered = Buffer.from(`${JSON.stringify(value)}\n`).equals(unsigned);
  if (!isRendered || !("action" in fields) || "signature" in fields) throw damage();
  if (!ACTIONS.includes(fields.action)) {
    throw newerError(where, `its action is ${JSON.stringify(fields.action)}`);
  }
  if (!("previous" in fields)) throw unreleasedFormat(where);
  const found = entrySchema.safeParse(value);
  if (found.success) return found.data;
  const unknown = found.error.issues.find(({ code }) => code === "unrecognized_keys");
  if (unknown?.code === "unrecognized_keys" && !unknown.keys.includes("signature")) {
    const members = unknown.keys.map((key) => JSON.stringify([...unknown.path, key].join(".")));
    throw newerError(where, `it has ${members.join(", ")}`);
  }
  throw damage(found.error);
}

const newerError = (where: string, why: string): DamageError =>
  new DamageError(`${where} was published by a newer chipboard: ${why}`);

/** The error for what no release has written. */
export const unreleasedFormat = (where: string): DamageError =>
  new DamageError(
    `${where} was written by a development version before 0.2.0; publish into a new store`,
  );
