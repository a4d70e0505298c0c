/** `doctor`: looks over a whole service: proxy, store, state, feeds, jobs and backups. */
import { Command } from "commander";
import { EXIT, PrintedError } from "../lib/errors.ts";
import {
  doctorOptions,
  printFindings,
  serviceFrom,
  tellingFrom,
  type DoctorOptions,
} from "./doctor-options.ts";
import { examples, withOptions } from "./every-command.ts";
import { withStore } from "./store-options.ts";

const HELP = `
Give it the options and variables of "serve" and "publish". It prints a line for each check, with what to do, then each
option in force and where its value comes from: option, variable, file or default. It also works while serve runs, and
while store or state are away. The exit code is the highest of the faults, as publish or serve would end; 3 is a limit of
an alert. A note is no fault. "not watched" names the option that the check needs. A script that reads variables from a
file says so in CHIPBOARD_ENV_FILE: the file, then the names of its variables, separated by blanks.

It asks /readyz through --public-url, and at the port; no proxy there is a fault. It reads catalog, map, holidays and
feeds as publish does, and judges and renders nothing. If a feed is an http(s) address, doctor compares the clock with
the Date of its server.

It changes nothing. To see whether the store creates an object only if it is absent, it writes a small probe and
removes it, as every publish does: about six requests to S3, two hidden files in a folder. It reads every file of the
head. It opens a port that is free, and closes it at once.
`;

export function doctorCommand(): Command {
  return withOptions(new Command("doctor"), doctorOptions())
    .addHelpText(
      "after",
      HELP +
        examples(
          "doctor",
          "doctor --json",
          "doctor --store s3://prices/chipboard --port 8443",
          "doctor --quotes https://feed.example/quotes.json --backup /var/backups/chipboard",
        ),
    )
    .action((given: DoctorOptions, command: Command) => doctor(given, command));
}

async function doctor(options: DoctorOptions, command: Command): Promise<void> {
  const { look } = await import("../doctor/guard.ts");
  const { worstOf } = await import("../doctor/checks.ts");
  await withStore(options, async (store) => {
    const findings = await look(serviceFrom(options, store), tellingFrom(options));
    await printFindings(findings, command, options.json);
    const code = worstOf(findings);
    if (code !== EXIT.done) throw new PrintedError(code);
  });
}
