/** `links`: creates, lists and revokes links. */
import { Command } from "commander";
import { clockFromEnvironment, createOption } from "../lib/config.ts";
import { printJson, printLine, printNotice, printRecords } from "../lib/terminal.ts";
import { examples } from "./every-command.ts";
import { label } from "./option-values.ts";
import {
  byOption,
  onRegistry,
  withStateHelp,
  withStateOptions,
  type StateOptions,
} from "./state-options.ts";

const CREATE_HELP = `
PATH is a path of the API that ends with .csv or .xlsx, such as /export.csv, with its
parameters. Anybody with the link reads that file as the account would, and nothing else. The calls count for
the account. Put the address of the service before the link.
`;

export function linksCommand(): Command {
  const links = new Command("links").addHelpText(
    "after",
    examples("links create acme '/export.csv?segment=dram' --label desk", "links ls acme"),
  );
  withStateHelp(
    links
      .command("create")
      .description("create a link and print it; it cannot be shown again")
      .argument("<account>", "the account whose data the link reads")
      .argument("<path>", "the file, with its parameters")
      .addOption(createOption("--label <text>", "purpose of the link", label))
      .addOption(byOption()),
    CREATE_HELP,
    "links create acme /export.xlsx --label desk",
    "links create acme '/history.csv?ids=ddr5-16gb&last=90'",
  ).action(create);
  withStateOptions(
    links
      .command("ls")
      .description("list the links of one account or of all accounts")
      .argument("[account]", "one account; default: all"),
    "links ls acme",
    "links ls --json",
  ).action(list);
  withStateOptions(
    links
      .command("revoke")
      .description("refuse a link for good")
      .argument("<linkid>", "the first 12 characters of the link, from lnk_ on")
      .addOption(byOption()),
    "links revoke lnk_1a2B3c4D",
  ).action(revoke);
  return links;
}

async function create(
  account: string,
  path: string,
  options: StateOptions & { label?: string },
): Promise<void> {
  const { isOffered, linkAddress, parseLinkPath } = await import("../core/find/link-target.ts");
  const read = parseLinkPath(path, clockFromEnvironment().now());
  const { tier, token, ...made } = await onRegistry(options, "use", async (registry) => ({
    ...(await registry.createLink(account, read, options.label ?? null)),
    tier: (await registry.account(account)).tier,
  }));
  if (!isOffered(read, tier)) {
    printNotice(
      `note: ${tier} does not include ${read}: this link answers 403 until ${account} is on a tier that does`,
    );
  }
  const link = linkAddress(token, read);
  if (options.json) return printJson({ link, ...made });
  printLine(link);
  printLine(`Link ${made.link_id} of ${account}. Store it now: it cannot be shown again.`);
}

async function list(account: string | undefined, options: StateOptions): Promise<void> {
  const links = await onRegistry(options, "use", (registry) => registry.links(account));
  if (options.json) return printJson(links);
  if (links.length === 0) return printLine("No links.");
  printRecords(links);
}

async function revoke(linkId: string, options: StateOptions): Promise<void> {
  const link = await onRegistry(options, "use", (registry) => registry.revokeLink(linkId));
  if (options.json) return printJson(link);
  printLine(`Revoked link ${link.link_id} of ${link.account}.`);
}
