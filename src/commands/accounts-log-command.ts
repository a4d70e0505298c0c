/** `accounts log`: shows the changes of accounts, their keys and links. */
import { Argument, Command } from "commander";
import { printJson, printLine, printTable } from "../lib/terminal.ts";
import { shownLocation } from "../lib/secrets.ts";
import type { AccountLogEntry, Details } from "../state/account-log.ts";
import { csvOption, onRegistry, printCsv, withStateHelp } from "./state-options.ts";
import type { StateOptions } from "./state-options.ts";

const HELP = `
The log begins with version 0.3.0. It never holds a key or a link. Entries of a removed account stay as long
as its counts, and are shown under its name.
`;

const CSV_COLUMNS = "number,at,account_id,account,action,key_id,before,after,by";

export function accountsLogCommand(): Command {
  return withStateHelp(
    new Command("log")
      .description("show the changes of one account or of all, with its keys and links")
      .addArgument(new Argument("[name]", "one account, also a removed one; default: all"))
      .addOption(csvOption()),
    HELP,
    "accounts log acme",
    "accounts log --csv",
  ).action(show);
}

async function show(
  name: string | undefined,
  options: StateOptions & { readonly csv?: true },
): Promise<void> {
  const entries = await onRegistry(options, "use", (registry) => registry.log(name));
  if (options.json) return printJson(entries);
  const rows = entries.map((entry) => ({ ...entry, ...inWords(entry) }));
  if (options.csv) return printCsv(CSV_COLUMNS, rows);
  if (rows.length === 0) {
    const whose = name === undefined ? "" : ` of ${name}`;
    return printLine(`No changes${whose} in the log of ${shownLocation(options.state)}.`);
  }
  printTable(
    ["at", "account", "action", "key", "before", "after", "by"],
    rows.map(({ at, account, action, key_id, before, after, by }) => [
      at,
      account,
      action,
      key_id,
      before,
      after,
      by,
    ]),
  );
}

/** Both sides of a change as text: `tier=starter note="pays late"`; null: there is none. */
export function inWords({ before, after }: Pick<AccountLogEntry, "before" | "after">) {
  // Of a thing that was made or removed, fields without a value tell nothing.
  const isWhole = before === null || after === null;
  const textOf = (details: Details | null): string | null =>
    Object.entries(details ?? {})
      .filter(([, value]) => !isWhole || (value !== null && value !== false && value !== ""))
      .map(([field, value]) => `${field}=${valueText(value)}`)
      .join(" ") || null;
  return { before: textOf(before), after: textOf(after) };
}

function valueText(value: Details[string] | undefined): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const text = String(value ?? "-");
  return /[\s"]/.test(text) ? JSON.stringify(text) : text;
}
