/** Proves a log that a service shows: each entry follows the one before, and a key signed the newest. */
import { DamageError } from "../lib/errors.ts";
import {
  ENTRY_BYTES_MAX,
  isPublication,
  type Publication,
  type StoredEntry,
} from "../snapshot/log/entry.ts";
import { parseEntry } from "../snapshot/log/entry-bytes.ts";
import { requireSigned } from "../snapshot/log/sign.ts";
import { TILE_BYTES_MAX, tiledEntries, type TileSource } from "../snapshot/log/tiles.ts";
import { walkLog } from "../snapshot/log/walk.ts";
import { firstOf, lastOf, tilePath } from "../store/paths.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { unexpectedAnswer, type UntrustedService } from "./untrusted-service.ts";
import { proven, unproven, type Step } from "./step.ts";

interface ProvenLog {
  readonly newest: StoredEntry;
  /** The newest entry that has a signature, no older than the one answered with; null: none has. */
  readonly signed: StoredEntry | null;
  /** The number of the newest publish or rollback that the request may mean; 0: none. */
  readonly meant: number;
  /** The SHA-256 (hex) of the entry that was seen before; undefined: the log ends before it. */
  readonly seenSha256: string | undefined;
}

/** The entry; null: the log ends before it. Throws DamageError if it is damaged. */
export async function fetchEntry(
  service: UntrustedService,
  number: number,
): Promise<StoredEntry | null> {
  const answer = await service.get(`/log/${number}`, ENTRY_BYTES_MAX);
  if (answer.status === 404) return null;
  if (answer.status !== 200) throw unexpectedAnswer(answer, `entry ${number} of the log`);
  return parseEntry(answer.body, number, `Entry ${number} of the log (${answer.what})`);
}

/** The tiles from an entry on, before another one. A service that is older than tiles has none, and is asked once. */
function tilesOf(service: UntrustedService, from: number, before: number): TileSource {
  let hasTiles = true;
  return {
    has: (tile) => hasTiles && firstOf(tile) >= from && lastOf(tile) < before,
    read: async (tile) => {
      const { status, body } = await service.get(tilePath(tile), TILE_BYTES_MAX);
      hasTiles = status === 200;
      return hasTiles ? body : null;
    },
    whereOf: (number) => `Entry ${number} of the log (${service.at(`/log/${number}`)})`,
  };
}

/**
 * Proves the log from the entry that the service answers with: back to the entry `first`, and on to the newest
 * one. `seen` is the number of an entry seen before; `isMeant` says which entries the request may mean. Throws
 * DamageError if a link is broken or missing.
 */
export async function proveLog(
  service: UntrustedService,
  answered: StoredEntry,
  first: number,
  seen: number,
  isMeant: (entry: Publication) => boolean,
): Promise<ProvenLog> {
  const { number } = answered.entry;
  const alone = async (at: number): Promise<StoredEntry | null> => {
    if (at < first || at === number) return at < first ? null : answered;
    const stored = await fetchEntry(service, at);
    if (stored !== null || at > number) return stored;
    throw new DamageError(`${service.at(`/log/${at}`)}: the log has no such entry`);
  };
  const read = tiledEntries(tilesOf(service, first, number), alone);
  let newest = answered;
  let signed: StoredEntry | null = null;
  let meant = 0;
  let seenSha256: string | undefined;
  const note = ({ entry, sha256 }: StoredEntry): void => {
    if (isPublication(entry) && isMeant(entry)) meant = Math.max(meant, entry.number);
    if (entry.number === seen) seenSha256 = sha256;
  };
  for await (const stored of walkLog(read, number, -1)) note(stored);
  for await (const stored of walkLog(read, number)) {
    note(stored);
    newest = stored;
    if (stored.signature !== null) signed = stored;
  }
  return { newest, signed, meant, seenSha256 };
}

/** The newest signed entry vouches for the entries before it. Also gives the entry to remember. */
export function signatureStep(
  { newest, signed }: ProvenLog,
  keys: readonly VerifyKey[] | null,
): { step: Step; seen: StoredEntry } {
  if (keys === null) {
    const step = unproven("signature", "Signatures are not checked without --verify-key");
    return { step, seen: newest };
  }
  const seen = signed ?? newest;
  const { fingerprint } = requireSigned(seen, keys);
  const number = seen.entry.number;
  const last = newest.entry.number;
  const after = number === last ? "" : `; entries up to ${last} are unsigned`;
  const text = `Entry ${number} of the log is signed by ${fingerprint}${after}`;
  return { step: proven("signature", text), seen };
}
