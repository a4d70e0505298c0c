/** `keys`: creates, lists, suspends, resumes, revokes and rotates keys. */
import { Command } from "commander";
import type { Registry } from "../state/registry.ts";
import type { KeyView } from "../state/account-views.ts";
import { DAY_MS, instantText } from "../lib/clock.ts";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { printJson, printLine, printTable } from "../lib/terminal.ts";
import { counted } from "../lib/text.ts";
import { parseDate } from "../market/session.ts";
import { examples } from "./every-command.ts";
import { durationMs, label, parsedBy } from "./option-values.ts";
import { signingCommand } from "./signing-command.ts";
import { byOption, csvOption, onRegistry, printCsv, withStateHelp } from "./state-options.ts";
import { withStateOptions, type StateOptions } from "./state-options.ts";

interface CreateOptions extends StateOptions {
  readonly accounts?: string;
  readonly label?: string;
  readonly expires?: string;
  readonly csv?: true;
}

const CSV_COLUMNS = "account,key_id,key";

export function keysCommand(): Command {
  const keys = new Command("keys").addHelpText(
    "after",
    examples("keys create acme --label ci", "keys ls acme"),
  );
  withStateHelp(
    keys
      .command("create")
      .description("create a key and print it; it cannot be shown again")
      .argument("[account]", "the account of the key")
      .addOption(
        createOption(
          "--accounts <file>",
          "create a key for each account of a file, all or none: a name per line, or CSV with a column name",
        ),
      )
      .addOption(createOption("--label <text>", "purpose of the key", label))
      .addOption(
        createOption(
          "--expires <date>",
          "last day on which the key is valid, up to 24:00 UTC (default: no end)",
          dayEnd,
        ),
      )
      .addOption(csvOption())
      .addOption(byOption()),
    "\n--csv prints the columns account, key_id and key. Write it into a file that only you can read.\n",
    "keys create acme --label ci --expires 2026-12-31",
    "keys create --accounts customers.csv --csv > keys.csv",
  ).action(create);
  withStateHelp(
    keys
      .command("ls")
      .description("list the keys of one account or of all accounts")
      .argument("[account]", "one account; default: all"),
    "\nA key is active, suspended, rotating (replaced, and valid until the time shown),\nrotated_out, expired or revoked. The last use is the UTC day of the last accepted request.\nIf the clock of a proxy was ahead, the day stays too late until the month ends.\n",
    "keys ls acme",
    "keys ls --json",
  ).action(list);
  const change = (
    name: string,
    description: string,
    done: string,
    work: (registry: Registry, keyId: string) => Promise<KeyView>,
  ): Command =>
    withStateOptions(
      keys
        .command(name)
        .description(description)
        .argument("<keyid>", "the first 12 characters of the key")
        .addOption(byOption()),
      `keys ${name} cbk_1a2B3c4D`,
    ).action(async (keyId: string, options: StateOptions) => {
      const key = await onRegistry(options, "use", (registry) => work(registry, keyId));
      if (options.json) return printJson(key);
      printLine(`${done} key ${key.key_id} of ${key.account}.`);
    });
  change("suspend", "refuse a key until you resume it", "Suspended", (registry, keyId) =>
    registry.suspendKey(keyId, true),
  );
  change("resume", "accept a suspended key again", "Resumed", (registry, keyId) =>
    registry.suspendKey(keyId, false),
  );
  change("revoke", "refuse a key for good", "Revoked", (registry, keyId) =>
    registry.revokeKey(keyId),
  );
  withStateOptions(
    keys
      .command("rotate")
      .description("create a key that replaces another; the old one stays valid for a while")
      .argument("<keyid>", "the first 12 characters of the key to replace")
      .addOption(
        createOption(
          "--overlap <duration>",
          "keep the old key valid for this long: 30m, 24h, 7d, or 0",
          durationMs("h", 0, 365 * DAY_MS),
        ).default(DAY_MS, "24h"),
      )
      .addOption(byOption()),
    "keys rotate cbk_1a2B3c4D --overlap 24h",
  ).action(rotate);
  return keys.addCommand(signingCommand());
}

export function printKeys(keys: Awaited<ReturnType<Registry["keys"]>>): void {
  if (keys.length === 0) return printLine("No keys.");
  printTable(
    ["keyid", "account", "label", "status", "created", "until", "replaced by", "last use"],
    keys.map((key) => [
      key.key_id,
      key.account,
      key.label,
      key.status,
      key.created_at,
      key.revoked_at ?? key.expires_at,
      key.replaced_by,
      key.last_used_on,
    ]),
  );
}

async function create(account: string | undefined, options: CreateOptions): Promise<void> {
  const { accounts, csv, json, label: given = null, expires = null } = options;
  if ((account === undefined) === (accounts === undefined))
    throw new InputError("Expected an account, or --accounts with a file of their names");
  if (account === undefined) {
    const { createKeysOf } = await import("./keys-file.ts");
    const made = await createKeysOf(String(accounts), options, given, expires);
    if (json) return printJson(made);
    if (csv) return printCsv(CSV_COLUMNS, made);
    printTable(
      CSV_COLUMNS.split(","),
      made.map(({ account: name, key_id, key }) => [name, key_id, key]),
    );
    return printLine(
      `Created ${counted(made.length, "key")}. Store them now: they cannot be shown again.`,
    );
  }
  const made = await onRegistry(options, "use", (registry) =>
    registry.createKey(account, given, expires),
  );
  if (json) return printJson(made);
  if (csv) return printCsv(CSV_COLUMNS, [made]);
  printLine(made.key);
  const until = made.expires_at === null ? "" : `, until ${made.expires_at}`;
  printLine(`Key ${made.key_id} of ${account}${until}. Store it now: it cannot be shown again.`);
}

async function list(account: string | undefined, options: StateOptions): Promise<void> {
  const keys = await onRegistry(options, "use", (registry) => registry.keys(account));
  if (options.json) return printJson(keys);
  printKeys(keys);
}

async function rotate(keyId: string, options: StateOptions & { overlap: number }): Promise<void> {
  const made = await onRegistry(options, "use", (registry) =>
    registry.rotateKey(keyId, options.overlap),
  );
  if (options.json) return printJson(made);
  const { key, key_id, account, replaces, replaced_until } = made;
  printLine(key);
  printLine(
    `Key ${key_id} of ${account} replaces ${replaces}, which is valid until ${replaced_until}.`,
  );
  if (made.expires_at !== null)
    printLine(`It ends when that would have ended: ${made.expires_at}.`);
  printLine("Store it now: it cannot be shown again.");
}

/** The end of a date UTC as an instant, whose year has four digits. */
const dayEnd = parsedBy((text) => {
  const day = text < "9999" ? parseDate(text) : null;
  return day === null ? null : instantText((day + 1) * DAY_MS);
}, "expected a date before the year 9999, such as 2026-12-31");
