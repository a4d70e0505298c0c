/** `usage`: shows calls per account, by key, by month or by day. */
import { Command } from "commander";
import { createOption } from "../lib/config.ts";
import { printJson, printLine, printRecords, type Fields } from "../lib/terminal.ts";
import { shownLocation } from "../lib/secrets.ts";
import { csvOption, onRegistry, printCsv, withStateHelp } from "./state-options.ts";
import type { StateOptions } from "./state-options.ts";

interface UsageOptions extends StateOptions {
  readonly per?: "key" | "month" | "day";
  readonly month?: string;
  readonly csv?: true;
}

export function usageCommand(): Command {
  return withStateHelp(
    new Command("usage")
      .argument("[account]", "one account; default: all")
      .addOption(
        createOption(
          "--per <what>",
          "a line per key, per month, or per day UTC of the last 62 days",
        ).choices(["key", "month", "day"]),
      )
      .addOption(
        createOption(
          "--month <month>",
          "month to show, such as 2026-11 (default: the present month)",
        ),
      )
      .addOption(csvOption()),
    "\nThe state keeps a month's counts of accounts and keys for 400 days after its end, and a day's for 62.\n--per, --month and --csv also show removed accounts. A tier is the present one, or the last. A month or\nday without calls has no line, except the last.\n",
    "usage",
    "usage acme --per key",
    "usage --per month",
    "usage acme --per day --month 2026-11",
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
    return printCsv(`${per === "day" ? per : "month"},account_id,account,tier,${ofKey}calls`, rows);
  }
  if (json) return printJson(account !== undefined && isPlain ? views[0] : views);
  if (views.length === 0) {
    const whose = account === undefined ? "" : ` of ${account}`;
    return printLine(
      `No ${per === "key" ? "keys" : "accounts"}${whose} in ${shownLocation(state)}.`,
    );
  }
  const unlimited = { limit: "none", remaining: "unlimited" };
  printRecords(views.map((view) => (view["limit"] === null ? { ...view, ...unlimited } : view)));
}
