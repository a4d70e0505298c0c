/** `keys create --accounts`: a key for each account of a file, all or none. */
import { Complaints } from "../feed/complaints.ts";
import { csvReader } from "../feed/csv-reader.ts";
import { sourceOf } from "../feed/source.ts";
import { readText } from "../feed/text-reader.ts";
import { InputError, RefusedError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { accountName } from "../state/accounts.ts";
import { onRegistry, type StateOptions } from "./state-options.ts";

const COLUMN = "name";

/**
 * Creates a key for each account that the file names. Throws an InputError with all faults of the file, then one with
 * all names that no account has, or a RefusedError if all exist and some can have no more keys.
 */
export async function createKeysOf(
  file: string,
  options: StateOptions,
  label: string | null,
  expires: string | null,
) {
  const complaints = new Complaints();
  const places = await namesIn(file, complaints);
  complaints.raise();
  return onRegistry(options, "use", (registry) =>
    registry.createKeys([...places.keys()], label, expires, (unknown, full) => {
      for (const [name, where] of places) {
        if (unknown.has(name)) complaints.cell(where, COLUMN, name, "the name of an account");
        const remedy = "an account that can have one more key; revoke or rotate one";
        if (full.has(name)) complaints.cell(where, COLUMN, name, remedy);
      }
      complaints.raise(unknown.size === 0 ? RefusedError : InputError);
    }),
  );
}

/** The place of each name in the file: the only cell of its line, or that in the column `name`. */
async function namesIn(file: string, complaints: Complaints): Promise<Map<string, string>> {
  const source = sourceOf(file);
  const places = new Map<string, string>();
  let width: number | null = null;
  let column = 0;
  const take = (record: readonly string[], line: number): boolean => {
    const where = `${source.name}:${line}`;
    if (width === null) {
      width = record.length;
      column = Math.max(0, record.indexOf(COLUMN));
      if (record.includes(COLUMN)) return true;
      if (width > 1) {
        complaints.at(where, `no column "${COLUMN}", expected one, or a file with a name per line`);
        return false;
      }
    }
    const name = record[column] ?? "";
    const earlier = places.get(name);
    if (record.length !== width) {
      complaints.at(
        where,
        `${counted(record.length, "field")}, expected ${width} as in the first line`,
      );
    } else if (accountName.parse(name) === undefined) {
      complaints.cell(where, COLUMN, name, accountName.expected);
    } else if (earlier !== undefined) {
      complaints.cell(where, COLUMN, name, `another name than ${earlier}`, "twice");
    } else places.set(name, where);
    return true;
  };
  const reader = csvReader(take, (finding, line) =>
    complaints.at(`${source.name}:${line}`, finding),
  );
  let countSoFar = 0;
  let isRead = false;
  for await (const chunk of readText(source, complaints)) {
    isRead = reader.read(chunk);
    if (!isRead) break;
    countSoFar = complaints.count;
  }
  // After a complaint about the text what came last is no whole line.
  if (isRead && complaints.count === countSoFar) reader.end();
  if (places.size === 0 && complaints.count === 0)
    complaints.at(source.name, "no names, expected one at least");
  return places;
}
