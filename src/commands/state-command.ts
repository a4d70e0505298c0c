/** `state`: creates, copies and backs up a state, and takes up the log of a store in place of the one that it has seen. */
import { Command } from "commander";
import type { SeenLog } from "../snapshot/log/lost.ts";
import type { StateSize } from "../state/copy-state.ts";
import { clockFromEnvironment } from "../lib/config.ts";
import { printJson, printLine } from "../lib/terminal.ts";
import { shownLocation } from "../lib/secrets.ts";
import { examples, jsonOption, withOptions, type JsonOption } from "./every-command.ts";
import { byOption, onRegistry, withStateHelp, type StateOptions } from "./state-options.ts";
import { storeOptions, withStore, type StoreOptions } from "./store-options.ts";

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
Proxies remember in the state the newest entry of the log that they served, for each store. If the store lacks that
entry, they say that it is lost, and with --verify-key they serve nothing older. Run this only if you have restored or
replaced the store yourself, and then restart the proxies. It forgets the remembered entry of the store, takes up its
log as it stands, and writes both into the log of accounts.
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
  const forget = withStateHelp(
    state
      .command("forget-log")
      .description(
        "forget the log that proxies served last, and take up the log of the store as it stands",
      ),
    FORGET_LOG_HELP,
    "state forget-log",
    "state forget-log --store /var/lib/chipboard/snapshots --by ops",
  );
  withOptions(forget, [...storeOptions(), byOption()]).action(forgetLog);
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

async function forgetLog(options: StateOptions & StoreOptions): Promise<void> {
  const { namesOf, readSeenLog } = await import("../snapshot/log/lost.ts");
  await withStore(options, async (store) => {
    const names = await namesOf(store);
    const log = await readSeenLog(store);
    const forgotten = await onRegistry(options, "use", (registry) =>
      registry.takeUpLog(names, log),
    );
    if (options.json) return printJson({ forgotten: entryIn(forgotten), taken_up: entryIn(log) });
    printLine(
      forgotten === null
        ? `No log of ${store.location} was remembered.`
        : `Forgot entry ${forgotten.number} of the log, SHA-256 ${forgotten.sha256}.`,
    );
    printLine(
      log === null
        ? `${store.location} holds no log.`
        : `Took up the log of ${store.location} with entry ${log.number}, SHA-256 ${log.sha256}. Restart the proxies.`,
    );
  });
}

const entryIn = (log: SeenLog | null) => log && { number: log.number, sha256: log.sha256 };

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
