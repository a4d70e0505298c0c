/** `guard`: looks over a service each minute, and tells a person of each change. */
import { Command } from "commander";
import {
  clockFromEnvironment,
  createOption,
  noticeAddress,
  reportVariables,
  variableErrorOf,
} from "../lib/config.ts";
import { EXIT, InputError, orError, PrintedError } from "../lib/errors.ts";
import { printJson, printLine, printNotice } from "../lib/terminal.ts";
import {
  doctorOptions,
  printFindings,
  serviceFrom,
  tellingFrom,
  type DoctorOptions,
} from "./doctor-options.ts";
import { examples, withOptions } from "./every-command.ts";
import { storeFromOptions } from "./store-options.ts";

const HELP = `
It looks as doctor does, with the same options and exit codes; run it each minute (chipboard-guard.timer). NOTICE_URL gets
a POST when something gets bad, and one when it is well again: plain text, or with NOTICE_FORMAT=json what Slack and
Discord take. --memory keeps the notices so far. Without it each look tells all again.

It reads catalog, map, holidays and feeds that are files at each look. Feeds at an address are asked once an hour,
every five minutes from 30 minutes before a session, and every five minutes after a fault. The head's files are read once an
hour and after each publication.

At the first look, and then each week, it restores the newest backup of --backup into a temporary folder and verifies it;
a copy of the store is verified where it is. It also does so with each new backup after one that failed.

--ping is asked after each look, unless NOTICE_URL did not take a notice: a dead man's switch there notices that nobody
looks, or that nobody hears. An option that is not given is "not watched".
`;

interface GuardOptions extends DoctorOptions {
  readonly test?: true;
}

export function guardCommand(): Command {
  const command = withOptions(new Command("guard"), doctorOptions())
    .addOption(createOption("--test", "send a notice to NOTICE_URL now, and look at nothing"))
    .addHelpText(
      "after",
      HELP +
        examples(
          "guard",
          "guard --memory guard.json --backup /var/backups/chipboard",
          "guard --memory guard.json --ping https://ping.example/chipboard",
          "guard --test",
          "guard --json",
        ),
    )
    .action((given: GuardOptions, command: Command) =>
      given.test ? test(given) : guard(given, command),
    );
  reportVariables(command);
  return command;
}

async function test({ json }: GuardOptions): Promise<void> {
  const address = noticeAddress();
  if (address === null) throw new InputError("NOTICE_URL is not set: nobody would get a notice");
  const { sendNotice, testText } = await import("../doctor/notices.ts");
  const failure = await sendNotice(address, testText());
  if (failure !== null) throw failure;
  if (json) printJson({ sent: true });
  else printLine("NOTICE_URL has taken a notice.");
}

async function guard(options: GuardOptions, command: Command): Promise<void> {
  const rooms = await import("../doctor/guard.ts");
  const { worstOf } = await import("../doctor/checks.ts");
  const telling = tellingFrom(options);
  const store =
    variableErrorOf(command) ?? (await orError(InputError, () => storeFromOptions(options)));
  if (store instanceof InputError) {
    await rooms.tellOfOptions(telling, store, clockFromEnvironment().now());
    throw store;
  }
  try {
    const { findings, notice } = await rooms.guard(serviceFrom(options, store), telling);
    if (notice !== null) printNotice(notice);
    await printFindings(findings, command, options.json, { notice });
    const code = worstOf(findings);
    if (code !== EXIT.done) throw new PrintedError(code);
  } finally {
    await store.close();
  }
}
