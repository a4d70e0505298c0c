/** Proves a log that a service shows: each entry follows the one before. */
import { DamageError } from "../lib/errors.ts";
import {
  ENTRY_BYTES_MAX,
  isPublication,
  parseEntry,
  type StoredEntry,
} from "../snapshot/log/entry.ts";
import { walkLog } from "../snapshot/log/walk.ts";
import { wasThere } from "../proxy/answers/vintage.ts";
import { unexpected, type Service } from "./service.ts";

/** More than a century of two sessions a day; a log that is longer does not end. */
const ENTRIES_MAX = 100_000;

/** A proven log, from one entry to the newest. */
export interface ProvenLog {
  /** The number of the entry that the proof begins with. */
  readonly first: number;
  /** The number of the newest entry. */
  readonly newest: number;
  /** The number of the newest publish or rollback that is not later than the instant asked for; 0: none. */
  readonly head: number;
  /** The newest entry that has a signature; null: none has. */
  readonly signed: StoredEntry | null;
  /** The SHA-256 (hex) of each entry, from `first` on. */
  readonly sha256s: readonly string[];
}

/** The SHA-256 (hex) of the entry; undefined: the proof does not reach it. */
export const sha256Of = ({ first, sha256s }: ProvenLog, number: number): string | undefined =>
  sha256s[number - first];

/** The entry; null: the log ends before it. Throws DamageError if it is damaged. */
export async function fetchEntry(service: Service, number: number): Promise<StoredEntry | null> {
  const answer = await service.get(`/log/${number}`, ENTRY_BYTES_MAX);
  if (answer.status === 404) return null;
  if (answer.status !== 200) throw unexpected(answer, `entry ${number} of the log`);
  return parseEntry(answer.body, number, `Entry ${number} of the log (${answer.what})`);
}

/**
 * Proves the log from the entry `first` to its newest one. `asOfMs` (epoch milliseconds) is the instant of
 * the head. Throws DamageError if a link is broken, or the log ends before the entry `through`.
 */
export async function proveLog(
  service: Service,
  first: number,
  through: number,
  asOfMs: number,
): Promise<ProvenLog> {
  const sha256s: string[] = [];
  let head = 0;
  let signed: StoredEntry | null = null;
  for await (const stored of walkLog((number) => fetchEntry(service, number), first)) {
    const { entry } = stored;
    if (isPublication(entry) && wasThere(entry, asOfMs)) head = entry.number;
    if (stored.signature !== null) signed = stored;
    if (sha256s.push(stored.sha256) > ENTRIES_MAX) {
      throw new DamageError(`${service.at("/log")} shows more than ${ENTRIES_MAX} entries`);
    }
  }
  const newest = first + sha256s.length - 1;
  if (newest >= through) return { first, newest, head, signed, sha256s };
  throw new DamageError(`${service.at(`/log/${newest + 1}`)}: the log has no such entry`);
}
