import { Command } from "commander";
import { clockFromEnvironment } from "../config.ts";
import { examples, jsonOption, stateOption } from "./state-options.ts";

interface UsageOptions {
  readonly state: string;
  readonly json?: true;
}

/** `usage [ACCOUNT]`: calls in the current month. */
export function usageCommand(): Command {
  return new Command("usage")
    .argument("[account]", "one account; all without")
    .addOption(stateOption())
    .addOption(jsonOption())
    .addHelpText("after", examples("usage", "usage acme --json"))
    .action(usage);
}

async function usage(account: string | undefined, options: UsageOptions): Promise<void> {
  const { withRegistry } = await import("../access/open-state.ts");
  const { usageView } = await import("../access/account-view.ts");
  const { redactedUrl } = await import("../access/redact.ts");
  const { printJson, printLine, printTable } = await import("../terminal.ts");
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
