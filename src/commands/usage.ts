import { Command } from "commander";
import { setting } from "../lib/config.ts";
import { printJson, printLine, printTable, type Cell } from "../lib/terminal.ts";
import { redactedUrl } from "../lib/text.ts";
import { examples } from "./every-command.ts";
import { onRegistry, withStateOptions, type StateOptions } from "./state-options.ts";

interface UsageOptions extends StateOptions {
  readonly by?: "key" | "month";
}

/** `usage [ACCOUNT]`: the calls of the current month, also by key, or by month. */
export function usageCommand(): Command {
  return withStateOptions(
    new Command("usage")
      .argument("[account]", "one account; default: all")
      .addOption(
        setting("--by <what>", "by key in this month, or by month").choices(["key", "month"]),
      ),
  )
    .addHelpText(
      "after",
      "\nThe state keeps a month's counts of accounts and keys for 400 days after its end.\n" +
        examples("usage", "usage acme --json", "usage acme --by key", "usage --by month"),
    )
    .action(usage);
}

async function usage(account: string | undefined, options: UsageOptions): Promise<void> {
  const { by, json, state } = options;
  const views = await onRegistry(
    options,
    "use",
    (registry): Promise<readonly Readonly<Record<string, Cell>>[]> => {
      if (by === "month") return registry.usageByMonth(account);
      return by === "key" ? registry.usageByKey(account) : registry.usage(account);
    },
  );
  if (json) return printJson(account === undefined || by !== undefined ? views : views[0]);
  const [first] = views;
  if (first === undefined) {
    const whose = account === undefined ? "" : ` of ${account}`;
    return printLine(`No ${by === "key" ? "keys" : "accounts"}${whose} in ${redactedUrl(state)}.`);
  }
  printTable(
    Object.keys(first).map((name) => name.replaceAll("_", " ")),
    views.map((view) =>
      Object.entries(view).map(([name, value]) => value ?? WITHOUT[name] ?? null),
    ),
  );
}

/** What null means in a column. */
const WITHOUT: Readonly<Record<string, string>> = { limit: "none", remaining: "unlimited" };
