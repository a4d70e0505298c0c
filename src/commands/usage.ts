import { Command } from "commander";
import { clockFromEnvironment } from "../lib/config.ts";
import { examples } from "./every-command.ts";
import { withStateOptions, type StateOptions } from "./state-options.ts";

/** `usage [ACCOUNT]`: the calls of the current month. */
export function usageCommand(): Command {
  return withStateOptions(new Command("usage").argument("[account]", "one account; default: all"))
    .addHelpText("after", examples("usage", "usage acme --json"))
    .action(usage);
}

async function usage(account: string | undefined, options: StateOptions): Promise<void> {
  const { withRegistry } = await import("../state/open.ts");
  const { usageView } = await import("../state/account-view.ts");
  const { redactedUrl } = await import("../lib/text.ts");
  const { printJson, printLine, printTable } = await import("../lib/terminal.ts");
  const found = await withRegistry(options.state, clockFromEnvironment(), "read", (registry) =>
    registry.usage(account),
  );
  const views = found.map(usageView);
  if (options.json) return printJson(account === undefined ? views : views[0]);
  if (views.length === 0) return printLine(`No accounts in ${redactedUrl(options.state)}.`);
  printTable(
    ["account", "tier", "month", "used", "limit", "remaining", "resets at"],
    views.map(({ account: name, tier, month, used, limit, remaining, resets_at }) => [
      name,
      tier,
      month,
      used,
      limit ?? "none",
      remaining ?? "unlimited",
      resets_at,
    ]),
  );
}
