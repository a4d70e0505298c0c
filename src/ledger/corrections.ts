/** The changes of published levels, all of them so far: `corrections.json` of every snapshot. */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { sessionUtc, type Session } from "../market/session.ts";
import type { Decimal } from "../market/decimal.ts";
import { jsonText } from "../lib/json.ts";
import { sessionField } from "../snapshot/stored-fields.ts";

/** A published level that was added late (`oldUsd` null), changed, or withdrawn (`newUsd` null). */
export interface Correction {
  readonly contract: string;
  readonly session: Session;
  readonly oldUsd: Decimal | null;
  readonly newUsd: Decimal | null;
  readonly reason: string;
  /** The first snapshot with the correction, `2026-11-21T00Z/r2`. */
  readonly correctedIn: string;
  /** The number of the entry that made this snapshot the head; null: an older program did not store it. */
  readonly publication: number | null;
}

const fileSchema = z.array(
  z.object({
    contract: z.string(),
    session_utc: sessionField,
    old_usd: z.number().positive().nullable(),
    new_usd: z.number().positive().nullable(),
    reason: z.string(),
    corrected_in: z.string(),
    publication: z.int().positive().nullable().default(null),
  }),
);

/** The fields of a correction without the contract, as contract payloads list them. */
export const correctionFields = (item: Correction) => ({
  session_utc: sessionUtc(item.session),
  old_usd: item.oldUsd === null ? null : Number(item.oldUsd),
  new_usd: item.newUsd === null ? null : Number(item.newUsd),
  reason: item.reason,
  corrected_in: item.correctedIn,
  publication: item.publication,
});

/** The text of `corrections.json`, in the order given. */
export const renderCorrections = (corrections: readonly Correction[]): string =>
  jsonText(corrections.map((item) => ({ contract: item.contract, ...correctionFields(item) })));

/** Reads the file. Throws DamageError, which names `where`, if the file is not a list of corrections. */
export function parseCorrections(bytes: Buffer, where: string): Correction[] {
  try {
    return fileSchema.parse(JSON.parse(bytes.toString("utf8"))).map((item) => ({
      contract: item.contract,
      session: item.session_utc,
      oldUsd: item.old_usd === null ? null : String(item.old_usd),
      newUsd: item.new_usd === null ? null : String(item.new_usd),
      reason: item.reason,
      correctedIn: item.corrected_in,
      publication: item.publication,
    }));
  } catch (cause) {
    throw new DamageError(`${where} is not a list of corrections`, [], { cause });
  }
}
