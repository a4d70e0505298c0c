/** `accounts`: adds, imports, lists, shows, changes and removes accounts, and shows their log. */
import { Argument, Command, type Option } from "commander";
import type { AccountView } from "../state/account-views.ts";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { printFacts, printJson, printLine, printTable } from "../lib/terminal.ts";
import { shownLocation } from "../lib/secrets.ts";
import { counted } from "../lib/text.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../market/tier.ts";
import { accountsLogCommand, inWords } from "./accounts-log-command.ts";
import { examples } from "./every-command.ts";
import { noteText, TRIAL_DAYS_MAX, wholeNumber } from "./option-values.ts";
import { byOption, csvOption, onRegistry, printCsv, withStateHelp } from "./state-options.ts";
import { withStateOptions, type StateOptions } from "./state-options.ts";

interface AddOptions extends StateOptions {
  readonly tier: KeyTierName;
  readonly trialDays?: number;
  readonly note?: string;
}

interface SetOptions extends StateOptions {
  readonly tier?: KeyTierName;
  readonly trialDays?: number;
  readonly suspend?: true;
  readonly resume?: true;
  readonly note?: string;
}

interface ImportOptions extends StateOptions {
  readonly update?: true;
}

const IMPORT_HELP = `
With --update an empty cell removes the value, and a column that the file lacks changes nothing. A trial of as
many days as before continues. If the file has no trial_days, a change of tier ends a trial. Accounts that are
not in the file stay.
`;

export function accountsCommand(): Command {
  const accounts = new Command("accounts").addHelpText(
    "after",
    examples("accounts add acme --tier starter", "accounts ls", "accounts log acme"),
  );
  withStateOptions(
    accounts
      .command("add")
      .description("add an account; if there is no state yet, create one")
      .addArgument(nameArgument())
      .addOption(tierOption().makeOptionMandatory())
      .addOption(trialDaysOption())
      .addOption(noteOption())
      .addOption(byOption()),
    "accounts add acme --tier starter --trial-days 14",
  ).action(add);
  withStateHelp(
    accounts
      .command("import")
      .description("add the accounts of a file, all or none")
      .argument("<file>", "CSV with name, tier, trial_days, note; the last two may be empty")
      .addOption(
        createOption(
          "--update",
          "also change accounts that exist to the tier, trial and note of their row; never remove one",
        ),
      )
      .addOption(byOption()),
    IMPORT_HELP,
    "accounts import customers.csv",
    "accounts import customers.csv --update",
  ).action(addAll);
  withStateOptions(
    accounts.command("ls").description("list the accounts").addOption(csvOption()),
    "accounts ls --json",
    "accounts ls --csv",
  ).action(list);
  withStateOptions(
    accounts
      .command("show")
      .description("show an account with its keys")
      .addArgument(nameArgument()),
    "accounts show acme",
  ).action(show);
  withStateOptions(
    accounts
      .command("set")
      .description(
        "change an account's tier (this ends a trial), its trial or its note, suspend it or resume it",
      )
      .addArgument(nameArgument())
      .addOption(tierOption())
      .addOption(trialDaysOption())
      .addOption(noteOption())
      .addOption(createOption("--suspend", "refuse all keys of the account").conflicts("resume"))
      .addOption(createOption("--resume", "accept the account's keys again"))
      .addOption(byOption()),
    "accounts set acme --tier pro",
    "accounts set acme --suspend",
  ).action(change);
  withStateHelp(
    accounts
      .command("rm")
      .description("remove an account with all its keys; proxies refuse them within 5 seconds")
      .addArgument(nameArgument())
      .addOption(createOption("--yes", "do not ask"))
      .addOption(byOption()),
    "\nThe account's counts and its log stay until their time, for usage --month and accounts log. An account that is added again\nunder the same name begins at zero.\n",
    "accounts rm acme --yes",
  ).action(remove);
  return accounts.addCommand(accountsLogCommand());
}

async function add(name: string, options: AddOptions): Promise<void> {
  const { tier, trialDays = null, note } = options;
  const account = await onRegistry(options, "create", (registry) =>
    registry.addAccount(name, tier, trialDays, note === "" ? null : note),
  );
  if (options.json) return printJson(account);
  printLine(`Added account ${name} (${tierText(account)}).`);
}

async function addAll(file: string, options: ImportOptions): Promise<void> {
  const { importAccounts } = await import("./accounts-file.ts");
  const { update = false, json } = options;
  const done = await importAccounts(file, options, update);
  const { added, changed, unchanged } = done;
  if (json) return printJson(update ? done : added);
  if (added.length > 0 || !update) printAccounts(added);
  if (changed.length > 0) {
    const rows = changed.map((each) => ({ ...each, ...inWords(each) }));
    printTable(
      ["account", "before", "after"],
      rows.map(({ account, before, after }) => [account, before, after]),
    );
  }
  const others = `, changed ${changed.length}, left ${unchanged.length} as they were`;
  printLine(`Added ${counted(added.length, "account")}${update ? others : ""}.`);
}

const CSV_COLUMNS = "account_id,name,tier,trial_days,trial_lapses_at,suspended,created_at,note";

async function list(options: StateOptions & { readonly csv?: true }): Promise<void> {
  const accounts = await onRegistry(options, "use", (registry) => registry.accounts());
  if (options.json) return printJson(accounts);
  if (options.csv) {
    const rows = accounts.map(({ trial, suspended, ...account }) => ({
      ...account,
      trial_days: trial && trial.days,
      trial_lapses_at: trial && trial.lapses_at,
      suspended: String(suspended),
    }));
    return printCsv(CSV_COLUMNS, rows);
  }
  if (accounts.length === 0) return printLine(`No accounts in ${shownLocation(options.state)}.`);
  printAccounts(accounts);
}

function printAccounts(accounts: readonly AccountView[]): void {
  printTable(
    ["account", "tier", "trial until", "suspended", "created"],
    accounts.map(({ name, tier, trial, suspended, created_at }) => [
      name,
      tier,
      trial === null ? null : `${trial.lapses_at}${trial.lapsed ? " (lapsed)" : ""}`,
      suspended ? "yes" : "no",
      created_at,
    ]),
  );
}

async function show(name: string, options: StateOptions): Promise<void> {
  const { printKeys } = await import("./keys-command.ts");
  const { keys, ...found } = await onRegistry(options, "use", async (registry) => ({
    ...(await registry.account(name)),
    keys: await registry.keys(name),
  }));
  if (options.json) return printJson({ ...found, keys });
  const { name: account, tier, suspended, created_at: created, note, trial } = found;
  printFacts({
    account,
    tier,
    suspended: suspended ? "yes" : "no",
    created,
    ...(note !== null && { note }),
    ...(trial !== null && {
      trial: `${trial.days} days, ${trial.lapsed ? "lapsed" : "until"} ${trial.lapses_at}`,
    }),
  });
  printLine("");
  printKeys(keys);
}

async function change(name: string, options: SetOptions): Promise<void> {
  const { tier, trialDays, suspend, resume, note } = options;
  if ([tier, trialDays, suspend, resume, note].every((value) => value === undefined)) {
    throw new InputError(
      "Nothing to change: expected --tier, --trial-days, --note, --suspend or --resume",
    );
  }
  const suspended = suspend ? true : resume ? false : undefined;
  const account = await onRegistry(options, "use", (registry) =>
    registry.setAccount(name, { tier, trialDays, suspended, note: note === "" ? null : note }),
  );
  if (options.json) return printJson(account);
  printLine(`Account ${name}: ${tierText(account)}${account.suspended ? ", suspended" : ""}.`);
}

async function remove(name: string, options: StateOptions & { yes?: true }): Promise<void> {
  if (!options.yes && !process.stdin.isTTY) {
    throw new InputError(
      `Account ${JSON.stringify(name)} stays: expected --yes, because there is no terminal to ask on`,
    );
  }
  let what = `account ${name}`;
  const account = await onRegistry(options, "use", async (registry) => {
    what += ` and its ${counted((await registry.keys(name)).length, "key")}`;
    return options.yes || (await confirms(`Remove ${what}?`)) ? registry.removeAccount(name) : null;
  });
  if (account === null) return printLine(`Account ${name} stays.`);
  if (options.json) return printJson(account);
  printLine(`Removed ${what}.`);
}

/** Asks on the terminal. The output stays free for the result. */
async function confirms(question: string): Promise<boolean> {
  const { createInterface } = await import("node:readline/promises");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await new Promise<string>((resolve) => {
    // The end of the input is a no.
    terminal.once("close", () => resolve(""));
    void terminal.question(`${question} [y/N] `).then(resolve);
  });
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

const tierText = ({ tier, trial }: AccountView): string =>
  tier + (trial === null ? "" : `, on trial until ${trial.lapses_at}`);

const nameArgument = (): Argument =>
  new Argument("<name>", "1 to 63 characters: a-z, 0-9, '.', '_' and '-'");

const tierOption = (): Option =>
  createOption("--tier <tier>", "tier of the account").choices(KEY_TIER_NAMES);

const noteOption = (): Option =>
  createOption("--note <text>", 'your own words on the account; "" removes them', noteText);

const trialDaysOption = (): Option =>
  createOption(
    "--trial-days <days>",
    "start a trial now that ends after this many days of 24 hours",
    wholeNumber(`expected whole days from 1 to ${TRIAL_DAYS_MAX}`, 1, TRIAL_DAYS_MAX),
  );
