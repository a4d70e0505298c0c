/** The options of every command that uses accounts, keys and counts. */
import type { Command, Option } from "commander";
import type { StatePurpose } from "../ports/state.ts";
import type { Registry } from "../state/registry.ts";
import { clockFromEnvironment, createOption } from "../lib/config.ts";
import { printNotice, type Fields } from "../lib/terminal.ts";
import { examples, jsonOption, type JsonOption } from "./every-command.ts";
import { lineUpTo } from "./option-values.ts";

export interface StateOptions extends JsonOption {
  readonly state: string;
  /** See byOption. */
  readonly by?: string;
}

/** `--by`, of the commands that change an account, its keys or its links. */
export const byOption = (): Option =>
  createOption(
    "--by <name>",
    "name of the person who makes the change, for accounts log (default: the system's user)",
    lineUpTo(100),
  );

/** `--csv`: a list for spreadsheets. */
export const csvOption = (): Option => createOption("--csv", "print CSV").conflicts("json");

/** Writes these columns (`name,tier`) of records as CSV. No cell is a formula. */
export async function printCsv(columns: string, records: readonly Fields[]): Promise<void> {
  const { csvText, harmless } = await import("../lib/csv.ts");
  const names = columns.split(",");
  const cellsOf = (record: Fields) => names.map((name) => harmless(String(record[name] ?? "")));
  process.stdout.write(csvText([names, ...records.map(cellsOf)]));
}

/** `--state`: the place of accounts, keys and counts. */
export const stateOption = (): Option =>
  createOption(
    "--state <location>",
    "a folder, redis://[:password@]host:port/db, or https://:SECRET@host of a Worker's door",
  ).default("./state");

/** Adds `--state` and `--json`, and to the help a text and examples. */
export const withStateHelp = (command: Command, text: string, ...lines: string[]): Command =>
  command
    .addOption(stateOption())
    .addOption(jsonOption())
    .addHelpText("after", text + examples(...lines));

/** The same without a text. */
export const withStateOptions = (command: Command, ...lines: string[]): Command =>
  withStateHelp(command, "", ...lines);

/** Runs `work` on the registry that `--state` names, and says if it was created. Throws as `withRegistry` does. */
export async function onRegistry<T>(
  { state, by }: StateOptions,
  purpose: StatePurpose,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const { withRegistry } = await import("../state/open.ts");
  const workHere = (registry: Registry): Promise<T> => {
    if (registry.created !== null) {
      printNotice(
        `Created a new state at ${registry.created}. If your proxies use another one, name it with --state or CHIPBOARD_STATE.`,
      );
    }
    return work(registry);
  };
  return withRegistry(state, clockFromEnvironment(), purpose, workHere, by);
}
