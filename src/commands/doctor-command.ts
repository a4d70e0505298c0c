/** `doctor`: looks over clock, store, state, ports, certificate and options of a service. */
import { Command, type Option } from "commander";
import {
  clockFromEnvironment,
  configurationOf,
  configuredFeed,
  isClockSet,
  otherVariables,
  type ConfiguredValue,
} from "../lib/config.ts";
import { EXIT, PrintedError, type ExitCode } from "../lib/errors.ts";
import { printJson, printLine, printTable } from "../lib/terminal.ts";
import type { Finding } from "../doctor/checks.ts";
import { examples, withOptions } from "./every-command.ts";
import { readPlans, readTls } from "./serve-command.ts";
import { serveOptions, type ServeOptions } from "./serve-options.ts";
import { verifyKeyOption, verifyKeysFrom } from "./signing-options.ts";
import { storeFromOptions } from "./store-options.ts";
import { maxGapOption } from "./time-options.ts";

const HELP = `
Give it the options and variables of "serve". It prints a line for each check, with what to do, then each option in
force and where its value comes from: option, variable, file or default. It also works while serve runs, and while
store or state are away. The exit code is the highest of the faults, as publish or serve would end; 3 is a limit of
an alert. A note is no fault. A script that reads variables from a file says so in CHIPBOARD_ENV_FILE: the file, then the
names of its variables, separated by blanks.

If CHIPBOARD_QUOTES is an http(s) address, doctor compares the clock with the Date of its server, as publish does.

It changes nothing. To see whether the store creates an object only if it is absent, it writes a small probe and
removes it, as every publish does: about six requests to S3, two hidden files in a folder. It reads every file of the
head. It opens a port that is free, and closes it at once.
`;

interface DoctorOptions extends ServeOptions {
  readonly maxGap: number;
}

export function doctorCommand(): Command {
  const options: Option[] = [
    ...serveOptions(),
    verifyKeyOption("require that one of these public keys has signed the log"),
    maxGapOption(),
  ];
  return withOptions(new Command("doctor"), options)
    .addHelpText(
      "after",
      HELP +
        examples("doctor", "doctor --json", "doctor --store s3://prices/chipboard --port 8443"),
    )
    .action((given: DoctorOptions, command: Command) => doctor(given, command));
}

async function doctor(options: DoctorOptions, command: Command): Promise<void> {
  const { examine } = await import("../doctor/doctor.ts");
  const { worstOf } = await import("../doctor/checks.ts");
  const store = await storeFromOptions(options);
  try {
    const findings = await examine({
      store,
      state: options.state,
      feed: configuredFeed(),
      readFiles: async () => {
        await readPlans(options);
        return verifyKeysFrom(options);
      },
      readTls: () => readTls(options),
      clock: clockFromEnvironment(),
      isClockSet: isClockSet(),
      graceMs: options.grace,
      maxGapSessions: options.maxGap,
      host: options.host,
      port: options.port,
      metricsHost: options.metricsHost,
      metricsPort: options.metricsPort === "off" ? null : options.metricsPort,
    });
    const code = worstOf(findings);
    await print(findings, code, configurationOf(command), otherVariables(command), options.json);
    if (code !== EXIT.done) throw new PrintedError(code);
  } finally {
    await store.close();
  }
}

async function print(
  findings: readonly Finding[],
  code: ExitCode,
  configuration: readonly ConfiguredValue[],
  others: readonly string[],
  json: true | undefined,
): Promise<void> {
  const { CHECKS } = await import("../doctor/checks.ts");
  if (json) {
    return printJson({
      exit_code: code,
      checks: findings.map(({ check, result, exitCode, text, remedy }) => {
        const { gauge, alert, runbook, refusedAtStart } = CHECKS[check];
        const row = { gauge, alert, runbook, refused_at_start: refusedAtStart };
        return { check, result, exit_code: exitCode, text, remedy, ...row };
      }),
      configuration,
      other_variables: others,
    });
  }
  for (const { check, result, text, remedy } of findings) {
    printLine(`${result.padEnd(7)}  ${check.padEnd(12)}  ${text}`);
    const page = result === "fault" ? ` (${CHECKS[check].runbook})` : "";
    if (remedy !== null) printLine(`${" ".repeat(23)}→ ${remedy}${page}`);
  }
  printLine("");
  printTable(
    ["option", "value", "from"],
    configuration
      .filter(({ value }) => value !== null)
      .map(({ option, variable, value, source, file }) => [
        option,
        value,
        source === "variable" ? variable : source === "file" ? `${variable} in ${file}` : source,
      ]),
  );
  if (others.length > 0) printLine(`\nRead by other commands: ${others.join(", ")}`);
}
