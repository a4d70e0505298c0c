import { Command } from "commander";
import { z } from "zod";
import type { keyView } from "../access/account-view.ts";
import type { KeyRecord } from "../access/records.ts";
import type { Registry } from "../access/registry.ts";
import { clockFromEnvironment, setting } from "../config.ts";
import { signingCommand } from "./signing.ts";
import { examples, jsonOption, stateOption } from "./state-options.ts";

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 24 * 3_600_000 } as const;
const MAX_OVERLAP_MS = 365 * UNIT_MS.d;
const OVERLAP_EXPECTED = "expected a time such as 30m, 24h or 7d, at most 365d, or 0";

interface StateOptions {
  readonly state: string;
  readonly json?: true;
}

interface CreateOptions extends StateOptions {
  readonly label?: string;
}

interface RotateOptions extends StateOptions {
  /** Milliseconds. */
  readonly overlap: number;
}

/** `keys create|ls|suspend|resume|revoke|rotate|signing`. */
export function keysCommand(): Command {
  const keys = new Command("keys")
    .description("create, list, suspend, revoke and rotate keys; make keys for signing")
    .addHelpText("after", examples("keys create acme --label ci", "keys ls acme"));
  keys
    .command("create")
    .description("create a key and print it, this once")
    .argument("<account>", "whose key it is")
    .addOption(setting("--label <text>", "what the key is for", label))
    .addOption(stateOption())
    .addOption(jsonOption())
    .addHelpText("after", examples("keys create acme --label ci"))
    .action(create);
  keys
    .command("ls")
    .description("list the keys of an account, or of all")
    .argument("[account]", "whose keys")
    .addOption(stateOption())
    .addOption(jsonOption())
    .addHelpText("after", examples("keys ls acme", "keys ls --json"))
    .action(list);
  const change = (
    name: string,
    description: string,
    done: string,
    work: (registry: Registry, keyId: string) => Promise<KeyRecord>,
  ): Command =>
    keys
      .command(name)
      .description(description)
      .argument("<keyid>", "the first 12 characters of the key")
      .addOption(stateOption())
      .addOption(jsonOption())
      .addHelpText("after", examples(`keys ${name} cbk_1a2B3c4D`))
      .action((keyId: string, options: StateOptions) => changeKey(keyId, options, done, work));
  change("suspend", "refuse a key until it is resumed", "Suspended", (registry, keyId) =>
    registry.suspendKey(keyId, true),
  );
  change("resume", "accept a suspended key again", "Resumed", (registry, keyId) =>
    registry.suspendKey(keyId, false),
  );
  change("revoke", "refuse a key for good", "Revoked", (registry, keyId) =>
    registry.revokeKey(keyId),
  );
  keys
    .command("rotate")
    .description("create a key in place of another, which goes on for a while")
    .argument("<keyid>", "the first 12 characters of the key to replace")
    .addOption(
      setting(
        "--overlap <time>",
        "how long the old key goes on: 30m, 24h, 7d, or 0",
        overlap,
      ).default(UNIT_MS.d, "24h"),
    )
    .addOption(stateOption())
    .addOption(jsonOption())
    .addHelpText("after", examples("keys rotate cbk_1a2B3c4D --overlap 24h"))
    .action(rotate);
  return keys.addCommand(signingCommand());
}

/** Prints keys as a table. */
export async function printKeys(keys: readonly ReturnType<typeof keyView>[]): Promise<void> {
  const { printLine, printTable } = await import("../terminal.ts");
  if (keys.length === 0) return printLine("No keys.");
  printTable(
    ["keyid", "account", "label", "status", "created", "until", "replaced by"],
    keys.map((key) => [
      key.key_id,
      key.account,
      key.label,
      key.status,
      key.created_at,
      key.revoked_at ?? key.expires_at,
      key.replaced_by,
    ]),
  );
}

async function create(account: string, options: CreateOptions): Promise<void> {
  const { withRegistry } = await import("../access/open-state.ts");
  const { newKeyView } = await import("../access/account-view.ts");
  const { printJson, printLine } = await import("../terminal.ts");
  const made = await withRegistry(options.state, clockFromEnvironment(), "change", (registry) =>
    registry.createKey(account, options.label ?? null),
  );
  if (options.json) return printJson(newKeyView(made));
  printLine(made.key);
  printLine(`Key ${made.record.key_id} of ${account}. It is shown only now: keep it.`);
}

async function list(account: string | undefined, options: StateOptions): Promise<void> {
  const { withRegistry } = await import("../access/open-state.ts");
  const { keyView } = await import("../access/account-view.ts");
  const { printJson } = await import("../terminal.ts");
  const clock = clockFromEnvironment();
  const keys = await withRegistry(options.state, clock, "read", (registry) =>
    registry.keys(account),
  );
  const views = keys.map((key) => keyView(key, clock.now()));
  if (options.json) return printJson(views);
  await printKeys(views);
}

async function changeKey(
  keyId: string,
  options: StateOptions,
  done: string,
  work: (registry: Registry, keyId: string) => Promise<KeyRecord>,
): Promise<void> {
  const { withRegistry } = await import("../access/open-state.ts");
  const { keyView } = await import("../access/account-view.ts");
  const { printJson, printLine } = await import("../terminal.ts");
  const clock = clockFromEnvironment();
  const key = await withRegistry(options.state, clock, "change", (registry) =>
    work(registry, keyId),
  );
  if (options.json) return printJson(keyView(key, clock.now()));
  printLine(`${done} key ${key.key_id} of ${key.account}.`);
}

async function rotate(keyId: string, options: RotateOptions): Promise<void> {
  const { withRegistry } = await import("../access/open-state.ts");
  const { newKeyView } = await import("../access/account-view.ts");
  const { printJson, printLine } = await import("../terminal.ts");
  const made = await withRegistry(options.state, clockFromEnvironment(), "change", (registry) =>
    registry.rotateKey(keyId, options.overlap),
  );
  const { key_id, account } = made.record;
  const until = made.replaced.expires_at;
  if (options.json) {
    return printJson({ ...newKeyView(made), replaces: keyId, replaced_until: until });
  }
  printLine(made.key);
  printLine(`Key ${key_id} of ${account} replaces ${keyId}, which goes on until ${String(until)}.`);
  printLine("It is shown only now: keep it.");
}

const label = z
  .string()
  .regex(/^[^\p{Cc}]{1,80}$/u, "expected 1 to 80 characters, without control characters");

const overlap = z.string().transform((text, context): number => {
  const parts = /^(\d{1,9})([smhd])$/.exec(text);
  const unitMs = UNIT_MS[parts?.[2] as keyof typeof UNIT_MS];
  const ms = text === "0" ? 0 : parts === null ? NaN : Number(parts[1]) * unitMs;
  if (ms <= MAX_OVERLAP_MS) return ms;
  context.addIssue({ code: "custom", message: OVERLAP_EXPECTED });
  return z.NEVER;
});
