/** The options of `doctor` and `guard`: those that describe a service, its feeds and its jobs, and their findings in words. */
import type { Command, Option } from "commander";
import {
  clockFromEnvironment,
  configurationOf,
  createOption,
  hasVariable,
  isClockSet,
  noticeAddress,
  otherVariables,
} from "../lib/config.ts";
import { printJson, printLine, printTable } from "../lib/terminal.ts";
import type { Finding } from "../doctor/checks.ts";
import type { WatchedService } from "../doctor/doctor.ts";
import type { Telling } from "../doctor/guard.ts";
import type { ObjectStore } from "../ports/store.ts";
import { isClosedDay } from "./closed-days.ts";
import { keepDays, textThat } from "./option-values.ts";
import { requestFrom } from "./publish-command.ts";
import { publishOptions, type PublishOptions } from "./publish-options.ts";
import { readPlans, readTls } from "./serve-command.ts";
import { serveOptions, type ServeOptions } from "./serve-options.ts";
import { verifyKeyOption, verifyKeysFrom } from "./signing-options.ts";

export interface DoctorOptions extends ServeOptions, Omit<PublishOptions, keyof ServeOptions> {
  readonly keepDays?: number;
  readonly backup?: string;
  readonly memory?: string;
  readonly ping?: string;
}

/** Whether an option of `publish` holds for every run. A summary is of one. */
const isOfEachRun = (option: Option): boolean => hasVariable(option) && option.name() !== "summary";

export function doctorOptions(): Option[] {
  const own: Option[] = [
    ...serveOptions(),
    verifyKeyOption("require that one of these public keys has signed the log"),
  ];
  const names = new Set(own.map((option) => option.name()));
  const ofPublish = Object.values(publishOptions())
    .flat()
    .filter((option) => !names.has(option.name()) && isOfEachRun(option));
  return [
    ...own,
    ...ofPublish,
    createOption(
      "--keep-days <days>",
      "days that snapshots are kept by prune: watch that it runs",
      keepDays,
    ),
    createOption(
      "--backup <place>",
      "a backup of the state, or a folder of backups and a copy of the store: the newest counts",
    ),
    createOption(
      "--memory <file>",
      "file in which guard keeps its notices, and the last success of each job",
    ),
    createOption(
      "--ping <url>",
      "address that guard asks at each look, for a dead man's switch",
      pingAddress,
    ),
  ];
}

/** An empty text gives none: a unit passes on a variable that may not be set. */
const pingAddress = textThat(
  (text) => text === "" || (/^https?:\/\//i.test(text) && URL.canParse(text)),
  "expected an http(s) address",
);

/** The service that the options describe. The caller closes the store. */
export function serviceFrom(options: DoctorOptions, store: ObjectStore): WatchedService {
  const { closed = [], holidays } = options;
  return {
    store,
    state: options.state,
    publish: {
      isClosedDay: (session) => isClosedDay(session, closed, holidays),
      hasHolidays: holidays !== undefined,
      requestFor: (session, isClosed) => {
        // A machine that only serves has no key to sign with.
        const { verifyKey: _, ...unsigned } = options;
        const given = options.signKey === undefined ? unsigned : options;
        return requestFrom({ ...given, dryRun: true }, session, isClosed);
      },
    },
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
    publicUrl: options.publicUrl ?? null,
    metricsHost: options.metricsHost,
    metricsPort: options.metricsPort === "off" ? null : options.metricsPort,
    keepDays: options.keepDays ?? null,
    backup: options.backup ?? null,
  };
}

/** Where notices, pings and the memory go. */
export const tellingFrom = ({ memory, ping }: Partial<DoctorOptions>): Telling => ({
  notices: noticeAddress(),
  ping: ping === undefined || ping === "" ? null : ping,
  memory: memory ?? null,
});

/** Prints a line for each finding, and the options in force. `more` are further members of the JSON. */
export async function printFindings(
  findings: readonly Finding[],
  command: Command,
  json: true | undefined,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { CHECKS, worstOf } = await import("../doctor/checks.ts");
  const configuration = configurationOf(command);
  const others = otherVariables(command);
  if (json) {
    return printJson({
      exit_code: worstOf(findings),
      checks: findings.map(({ check, result, exitCode, text, remedy }) => {
        const { gauge, alert, runbook, refusedAtStart } = CHECKS[check];
        const row = { gauge, alert, runbook, refused_at_start: refusedAtStart };
        return { check, result, exit_code: exitCode, text, remedy, ...row };
      }),
      ...more,
      configuration,
      other_variables: others,
    });
  }
  for (const { check, result, text, remedy } of findings) {
    printLine(`${result.padEnd(11)}  ${check.padEnd(12)}  ${text}`);
    const page = result === "fault" ? ` (${CHECKS[check].runbook})` : "";
    if (remedy !== null) printLine(`${" ".repeat(27)}→ ${remedy}${page}`);
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
