/** Proves a log that a service shows: each entry follows the one before. */
import { DamageError } from "../lib/errors.ts";
import { Chain, vouchesForPast } from "../snapshot/chain.ts";
import { signerOfEntry } from "../snapshot/entry-signature.ts";
import {
  ENTRY_BYTES_MAX,
  isPublication,
  parseStoredEntry,
  type StoredEntry,
} from "../snapshot/publication-log.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { wasThere } from "../proxy/vintage.ts";
import { REQUESTS_AT_ONCE, unexpected, type Answer, type Service } from "./service.ts";

/** More than a century of two sessions a day; a log that is longer does not end. */
const ENTRIES_MAX = 100_000;
const SIGNATURE_BYTES_MAX = 1_000;

/** A proven log, from one entry to the newest. */
export interface ProvenLog {
  /** The number of the entry that the proof begins with. */
  readonly first: number;
  /** The number of the newest entry. */
  readonly newest: number;
  /** The number of the newest publish or rollback that is not later than the instant asked for; 0: none. */
  readonly head: number;
  /** The number of the newest entry that vouches for those before it. */
  readonly linked: number;
  /** The SHA-256 (hex) of each entry, from `first` on. */
  readonly sha256s: readonly string[];
}

/** The SHA-256 (hex) of the entry; undefined: the proof does not reach it. */
export const sha256Of = ({ first, sha256s }: ProvenLog, number: number): string | undefined =>
  sha256s[number - first];

/** The entry. Throws DamageError if there is none, or if it is damaged. */
export async function fetchEntry(service: Service, number: number): Promise<StoredEntry> {
  const answer = await getEntry(service, number);
  if (answer.status !== 200) throw unexpected(answer, `entry ${number} of the log`);
  return parseStoredEntry(answer.body, number, `Entry ${number} of the log (${answer.what})`);
}

/**
 * Proves the log from the entry `from` to its newest one; from entry 1 if `from` has no link to the
 * entries before. `asOfMs` (epoch milliseconds) is the instant of the head. Throws DamageError if an
 * entry up to `through` is missing, or a link is broken.
 */
export async function proveLog(
  service: Service,
  from: number,
  through: number,
  asOfMs: number,
): Promise<ProvenLog> {
  const { previous } = (await fetchEntry(service, from)).entry;
  const first = typeof previous === "string" ? from : 1;
  const chain = new Chain();
  const sha256s: string[] = [];
  let head = 0;
  let linked = 0;
  for (;;) {
    const numbers = Array.from(
      { length: REQUESTS_AT_ONCE },
      (_, at) => first + sha256s.length + at,
    );
    for (const [at, answer] of (
      await Promise.all(numbers.map((number) => getEntry(service, number)))
    ).entries()) {
      const number = numbers[at] as number;
      if (answer.status === 404 && number > through) {
        return { first, newest: number - 1, head, linked, sha256s };
      }
      if (answer.status !== 200) throw unexpected(answer, `entry ${number} of the log`);
      const where = `Entry ${number} of the log (${answer.what})`;
      const { entry, sha256 } = chain.add(answer.body, number, where);
      if (isPublication(entry) && wasThere(entry, asOfMs)) head = number;
      if (vouchesForPast(entry)) linked = number;
      sha256s.push(sha256);
    }
    if (sha256s.length > ENTRIES_MAX) {
      throw new DamageError(`${service.at("/log")} shows more than ${ENTRIES_MAX} entries`);
    }
  }
}

/** Who vouches for an entry. */
export interface Voucher {
  /** The number of the signed entry. */
  readonly number: number;
  /** The fingerprint of the key that signed it. */
  readonly fingerprint: string;
}

/**
 * The newest linked entry from `number` on that has a signature: it vouches for those before it. Throws
 * DamageError if that is by none of the keys. Null: there is none.
 */
export async function findVoucher(
  service: Service,
  log: ProvenLog,
  number: number,
  keys: readonly VerifyKey[],
): Promise<Voucher | null> {
  const expected = `a signature by ${keys.map(({ fingerprint }) => fingerprint).join(" or ")}`;
  for (let signed = log.linked; signed >= number; signed -= 1) {
    const answer = await service.get(`/log/${signed}.sig`, SIGNATURE_BYTES_MAX);
    if (answer.status === 404) continue;
    if (answer.status !== 200) throw unexpected(answer, expected);
    const signer = signerOfEntry(answer.body, sha256Of(log, signed) as string, keys);
    if (signer !== null) return { number: signed, fingerprint: signer.fingerprint };
    throw new DamageError(
      `The signature of entry ${signed} (${answer.what}) does not fit it: expected ${expected}`,
    );
  }
  return null;
}

const getEntry = (service: Service, number: number): Promise<Answer> =>
  service.get(`/log/${number}`, ENTRY_BYTES_MAX);
