/** `state`: creates, copies and backs up a state, and forgets the log that it has seen. */
import { Command } from "commander";
import type { StateSize } from "../state/copy-state.ts";
import { clockFromEnvironment } from "../lib/config.ts";
import { printJson, printLine } from "../lib/terminal.ts";
import { shownLocation } from "../lib/secrets.ts";
import { examples, jsonOption, type JsonOption } from "./every-command.ts";
import { withStateHelp, type StateOptions } from "./state-options.ts";

const INIT_HELP = `
serve never creates a state: if --state is wrong or its disk is missing, a new state would refuse the keys
of every customer. "accounts add" and "accounts import" also create a state if there is none.
`;

const COPY_HELP = `
FROM and TO are folders or redis://[:password@]host:port/db. FROM can also be a backup file. TO must hold
no accounts, keys and counts. The copy writes TO in one step: after a kill TO is empty or whole.

To move without a lost count, stop the proxies, copy, and start them with --state TO. To move without a
pause, copy, then restart one proxy after the other with --state TO. TO lacks the calls that the proxies
count in FROM from the start of the copy on. Change no accounts and keys meanwhile.
`;

const BACKUP_HELP = `
Proxies can stay running. FILE becomes an SQLite file that only its owner can read. It must not exist
before, and appears when it is whole. "accounts ls --state FILE" lists its accounts. "state copy FILE TO"
restores it into an empty folder or Redis.
`;

const FORGET_LOG_HELP = `
A proxy with --verify-key stores in the state the entry of the log that it served last. After a restart it
refuses a log without that entry. Forget the entry only if you have replaced the store yourself. Then
restart the proxies: they accept any log that one of their keys has signed.
`;

export function stateCommand(): Command {
  const state = new Command("state").addHelpText(
    "after",
    examples(
      "state init",
      "state copy ./state redis://127.0.0.1:6379/0",
      "state backup state-2026-11-21.sqlite",
    ),
  );
  withStateHelp(
    state.command("init").description("create an empty state; do nothing if there is one"),
    INIT_HELP,
    "state init",
    "state init --state redis://127.0.0.1:6379/0",
  ).action(init);
  state
    .command("copy")
    .description("copy accounts, keys (as hashes) and counts into an empty state")
    .argument("<from>", "the state to copy")
    .argument("<to>", "the state to copy into, which is empty")
    .addOption(jsonOption())
    .addHelpText(
      "after",
      COPY_HELP +
        examples(
          "state copy ./state redis://127.0.0.1:6379/0",
          "state copy redis://127.0.0.1:6379/0 ./state",
          "state copy state-2026-11-21.sqlite ./state",
        ),
    )
    .action(copy);
  withStateHelp(
    state
      .command("backup")
      .description("write accounts, keys (as hashes) and counts into a new file")
      .argument("<file>", "the file to create"),
    BACKUP_HELP,
    "state backup state-2026-11-21.sqlite",
    "state backup state-2026-11-21.sqlite --state redis://127.0.0.1:6379/0",
  ).action(backUp);
  withStateHelp(
    state
      .command("forget-log")
      .description("forget the entry of the log that proxies with --verify-key served last"),
    FORGET_LOG_HELP,
    "state forget-log",
    "state forget-log --json",
  ).action(forgetLog);
  return state;
}

async function init({ state, json }: StateOptions): Promise<void> {
  const { createState } = await import("../state/open.ts");
  const created = await createState(state);
  const place = shownLocation(state);
  if (json) return printJson({ state: place, created });
  printLine(
    created ? `Created an empty state at ${place}.` : `There is a state at ${place} already.`,
  );
}

async function copy(from: string, to: string, options: JsonOption): Promise<void> {
  const { copyState } = await import("../state/copy-state.ts");
  const done = await copyState(from, to, clockFromEnvironment().now());
  await print("Copied", done, from, to, options);
  if (options.json) return;
  printLine(
    `Start the proxies with --state ${shownLocation(to)}. Calls that they count in ${shownLocation(from)} from now on are not in the copy.`,
  );
}

async function backUp(file: string, options: StateOptions): Promise<void> {
  const { backUpState } = await import("../state/copy-state.ts");
  const done = await backUpState(options.state, file, clockFromEnvironment().now());
  await print("Backed up", done, options.state, file, options);
}

async function forgetLog({ state, json }: StateOptions): Promise<void> {
  const { forgetSeen } = await import("../state/facts.ts");
  const { withDriver } = await import("../state/open.ts");
  const forgotten = await withDriver(state, "use", forgetSeen);
  if (json) {
    printJson({ forgotten });
  } else if (forgotten === null) {
    printLine("No entry of the log was remembered.");
  } else {
    printLine(`Forgot entry ${forgotten.number} of the log, SHA-256 ${forgotten.sha256}.`);
  }
}

async function print(
  did: string,
  copied: StateSize,
  fromLocation: string,
  toLocation: string,
  { json }: JsonOption,
): Promise<void> {
  const { inWords } = await import("../state/copy-state.ts");
  const from = shownLocation(fromLocation);
  const to = shownLocation(toLocation);
  if (json) {
    printJson({ from, to, ...copied });
  } else {
    printLine(`${did} ${inWords(copied)} from ${from} to ${to}, and read them back.`);
  }
}
