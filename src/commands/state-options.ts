/** The options of every command that uses accounts, keys and counts. */
import type { Command, Option } from "commander";
import type { StatePurpose } from "../state/driver.ts";
import type { Registry } from "../state/registry.ts";
import { clockFromEnvironment, setting } from "../lib/config.ts";
import { jsonOption, type JsonOption } from "./every-command.ts";

/** The values of these options. */
export interface StateOptions extends JsonOption {
  readonly state: string;
}

/** `--state`: the place of accounts, keys and counts. */
export const stateOption = (): Option =>
  setting("--state <location>", "a folder, or redis://[:password@]host:port/db").default("./state");

/** Adds `--state` and `--json`. */
export const withStateOptions = (command: Command): Command =>
  command.addOption(stateOption()).addOption(jsonOption());

/** Runs `work` on the registry that `--state` names. Throws as `withRegistry` does. */
export async function onRegistry<T>(
  { state }: StateOptions,
  purpose: StatePurpose,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const { withRegistry } = await import("../state/open.ts");
  return withRegistry(state, clockFromEnvironment(), purpose, work);
}
