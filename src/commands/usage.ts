import { Command } from "commander";
import { setting } from "../lib/config.ts";
import { printJson, printLine, printRecords, type Fields } from "../lib/terminal.ts";
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
  const views = await onRegistry(options, "use", (registry): Promise<readonly Fields[]> => {
    if (by === "month") return registry.usageByMonth(account);
    return by === "key" ? registry.usageByKey(account) : registry.usage(account);
  });
  if (json) return printJson(account === undefined || by !== undefined ? views : views[0]);
  if (views.length === 0) {
    const whose = account === undefined ? "" : ` of ${account}`;
    return printLine(`No ${by === "key" ? "keys" : "accounts"}${whose} in ${redactedUrl(state)}.`);
  }
  const unlimited = { limit: "none", remaining: "unlimited" };
  printRecords(views.map((view) => (view["limit"] === null ? { ...view, ...unlimited } : view)));
}
