/** `accounts import`: the accounts of a CSV file, all or none. */
import { Complaints } from "../feed/complaints.ts";
import { oneOf, wholeNumberField } from "../feed/fields.ts";
import { sourceOf } from "../feed/source.ts";
import type { TableRow } from "../feed/table-row.ts";
import { readTable } from "../feed/table.ts";
import { ConflictError, InputError, RefusedError, UnreachableError } from "../lib/errors.ts";
import { isLine } from "../lib/text.ts";
import { KEY_TIER_NAMES } from "../market/tier.ts";
import { accountName } from "../state/accounts.ts";
import type { ImportedAccount } from "../state/registry.ts";
import { TRIAL_DAYS_MAX } from "./option-values.ts";
import { onRegistry, type StateOptions } from "./state-options.ts";

const SHAPE = { columns: ["name", "tier", "trial_days", "note"], required: ["name", "tier"] };
const noteField = {
  expected: "text of up to 1000 characters on one line",
  parse: (text: string) => (isLine(text) ? text : undefined),
};

/**
 * Adds the accounts of the file, and creates a missing state for them; `update` also changes those that exist. Throws
 * all faults together: a ConflictError if they are only names that are taken, a RefusedError if they are only accounts
 * with more keys than their tier allows, else an InputError.
 */
export async function importAccounts(file: string, options: StateOptions, update: boolean) {
  const complaints = new Complaints();
  const rows = new Map<string, ImportedAccount & { readonly where: string }>();
  const take = (row: TableRow): void => {
    const name = row.read("name", accountName);
    const tier = row.read("tier", oneOf(KEY_TIER_NAMES));
    const trialDays = row.has("trial_days")
      ? row.optional("trial_days", wholeNumberField(1, TRIAL_DAYS_MAX))
      : undefined;
    const note = row.has("note") ? row.optional("note", noteField) : undefined;
    const earlier = rows.get(name);
    if (earlier !== undefined) row.refuse("name", `another name than ${earlier.where}`, "twice");
    else if (name !== undefined) rows.set(name, { name, tier, trialDays, note, where: row.where });
  };
  await readTable({ ...sourceOf(file), format: "csv" }, SHAPE, complaints, take);
  const isSound = complaints.count === 0;
  const accept = (existing: ReadonlyMap<string, number>): void => {
    for (const { name, tier, where } of rows.values()) {
      const tooMany = existing.get(name);
      if (tooMany === undefined) continue;
      if (!update) complaints.cell(where, "name", name, "a name that no account has");
      else if (tooMany > 0) {
        const remedy = `a tier that allows the keys of ${name}; or revoke ${tooMany} first`;
        complaints.cell(where, "tier", tier, remedy);
      }
    }
    complaints.raise(!isSound ? InputError : update ? RefusedError : ConflictError);
  };
  try {
    return await onRegistry(options, isSound ? "create" : "use", (registry) =>
      // A row without a known tier is complained of already.
      registry.importAccounts(
        [...rows.values()].filter(({ tier }) => tier !== undefined),
        accept,
      ),
    );
  } catch (error) {
    // The faults of the file say more than that there is no state.
    if (error instanceof UnreachableError) complaints.raise();
    throw error;
  }
}
