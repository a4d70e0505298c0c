/** `usage`: shows calls per account, by key, by month or by day, or one by one from the log of requests. */
import { Command } from "commander";
import { instantText } from "../lib/clock.ts";
import { clockFromEnvironment, createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { printJson, printLine, printRecords, type Fields } from "../lib/terminal.ts";
import { shownLocation } from "../lib/secrets.ts";
import { counted } from "../lib/text.ts";
import { readable } from "./option-files.ts";
import { csvOption, onRegistry, printCsv, withStateHelp } from "./state-options.ts";
import type { StateOptions } from "./state-options.ts";

interface UsageOptions extends StateOptions {
  readonly per?: "key" | "month" | "day";
  readonly month?: string;
  readonly calls?: string;
  readonly log?: readonly string[];
  readonly csv?: true;
}

const HELP = `
The state keeps a month's counts of accounts and keys for 400 days after its end, and a day's for 62.
--per, --month and --csv also show removed accounts. A tier is the present one, or the last. A month or
day without calls has no line, except the last.

--calls shows the calls of an account by day, key, route and status, from the log of a proxy that runs with
--log-requests all. --log names files with its lines (JSON), or - for standard input.
`;

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
      .addOption(
        createOption(
          "--calls <account>",
          "the account's calls of the month by day, key, route and status, from --log",
        ).conflicts("per"),
      )
      .addOption(createOption("--log <files...>", "with --calls: files of the log, or -"))
      .addOption(csvOption()),
    HELP,
    "usage",
    "usage acme --per key",
    "usage --per month",
    "usage acme --per day --month 2026-11",
    "usage --month 2026-11 --csv",
    "usage --calls acme --month 2026-11 --log proxy.log",
  ).action(usage);
}

async function usage(account: string | undefined, options: UsageOptions): Promise<void> {
  const { per, json, state, month, csv } = options;
  if (options.calls !== undefined) return showCalls(account, options.calls, options);
  if (options.log !== undefined) throw new InputError("--log needs --calls ACCOUNT");
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

/** The calls of an account from the log, beside the sum that the state counted. */
async function showCalls(
  argument: string | undefined,
  account: string,
  options: UsageOptions,
): Promise<void> {
  if (argument !== undefined) {
    throw new InputError(`--calls names the account: leave out ${JSON.stringify(argument)}`);
  }
  const { readCallLog } = await import("../state/logged-calls.ts");
  const month =
    options.month ?? instantText(clockFromEnvironment().now()).slice(0, "2026-11".length);
  // Also says whether account and month are known.
  const views = await onRegistry(options, "use", (registry) =>
    registry.calls(account, undefined, month),
  );
  const total = views.reduce((sum, { used }) => sum + used, 0);
  const rows =
    options.log === undefined ? null : await readCallLog(linesOf(options.log), account, month);
  if (options.json) {
    const calls = rows ?? [];
    return printJson({ account, month, counted: total, request_log: rows !== null, calls });
  }
  if (rows === null) {
    return printLine(`${notKept(options.log)} The state counted ${counted(total, "call")}.`);
  }
  if (options.csv) return printCsv("day,key,route,status,calls,requests", rows);
  printRecords(rows);
  const logged = rows.reduce((sum, { calls }) => sum + calls, 0);
  printLine(
    `The log has ${counted(logged, "call")} of ${account} in ${month}; the state counted ${total}.`,
  );
}

const notKept = (files: readonly string[] | undefined): string =>
  files === undefined
    ? "No request log is given, so single calls are not known. Run serve with --log-requests all, and name its log with --log FILE, or: journalctl --unit chipboard --output cat | chipboard usage --calls ACCOUNT --log -."
    : "The request log is not kept there: it has no request without a problem. Run serve with --log-requests all.";

async function* linesOf(files: readonly string[]): AsyncGenerator<string> {
  const { open } = await import("node:fs/promises");
  const { createInterface } = await import("node:readline");
  for (const file of files) {
    if (file === "-") {
      yield* createInterface({ input: process.stdin });
      continue;
    }
    const handle = await readable(`--log ${JSON.stringify(file)}`, () => open(file));
    yield* handle.readLines();
  }
}
