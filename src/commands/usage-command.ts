/** `usage`: shows calls per account, by key or by month. */
import { Command } from "commander";
import { setting } from "../lib/config.ts";
import { printJson, printLine, printRecords, type Fields } from "../lib/terminal.ts";
import { redactedUrl } from "../lib/text.ts";
import { csvOption, onRegistry, printCsv, withStateHelp } from "./state-options.ts";
import type { StateOptions } from "./state-options.ts";

interface UsageOptions extends StateOptions {
  readonly per?: "key" | "month";
  readonly month?: string;
  readonly csv?: true;
}

export function usageCommand(): Command {
  return withStateHelp(
    new Command("usage")
      .argument("[account]", "one account; default: all")
      .addOption(setting("--per <what>", "a line per key, or per month").choices(["key", "month"]))
      .addOption(setting("--month <month>", "another month than this one, such as 2026-11"))
      .addOption(csvOption()),
    "\nThe state keeps a month's counts of accounts and keys for 400 days after its end. --per, --month\nand --csv also tell removed accounts. A tier is the present one, or the last.\n",
    "usage",
    "usage acme --per key",
    "usage --per month",
    "usage --month 2026-11 --csv",
  ).action(usage);
}

async function usage(account: string | undefined, options: UsageOptions): Promise<void> {
  const { per, json, state, month, csv } = options;
  const isPlain = (per ?? month ?? csv) === undefined;
  const views = await onRegistry(options, "use", (registry): Promise<readonly Fields[]> =>
    isPlain ? registry.usage(account) : registry.calls(account, per, month),
  );
  if (csv) {
    const ofKey = per === "key" ? "key_id,label," : "";
    const rows = views.map((view) => ({ ...view, calls: view["used"] ?? null }));
    return printCsv(`month,account_id,account,tier,${ofKey}calls`, rows);
  }
  if (json) return printJson(account !== undefined && isPlain ? views[0] : views);
  if (views.length === 0) {
    const whose = account === undefined ? "" : ` of ${account}`;
    return printLine(`No ${per === "key" ? "keys" : "accounts"}${whose} in ${redactedUrl(state)}.`);
  }
  const unlimited = { limit: "none", remaining: "unlimited" };
  printRecords(views.map((view) => (view["limit"] === null ? { ...view, ...unlimited } : view)));
}
