/**
 * The checks of `doctor`: with the gauge that shows the same of a running proxy, the alert on it, the page that
 * says what to do, and whether `serve` refuses to start without it. Tests compare the table with metrics and alerts.
 */
import { ChipboardError, EXIT, orError, type ExitCode } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";

const OPERATE = "docs/operate";

interface CheckRow {
  readonly gauge: string | null;
  readonly alert: string | null;
  readonly runbook: string;
  readonly refusedAtStart: boolean;
}

/** A check of the jobs, of which proxies know nothing. */
function ofJobs(page: string) {
  return { gauge: null, alert: null, runbook: `${OPERATE}/${page}`, refusedAtStart: false };
}

export const CHECKS = {
  clock: {
    gauge: "chipboard_clock_behind_seconds",
    alert: "ChipboardClockBehind",
    runbook: `${OPERATE}/troubleshooting.md#the-proxy-does-not-serve`,
    refusedAtStart: false,
  },
  store: {
    gauge: "chipboard_store_up",
    alert: "ChipboardStoreUnreachable",
    runbook: `${OPERATE}/s3-redis.md#many-machines-s3-and-redis`,
    refusedAtStart: false,
  },
  lost: {
    gauge: "chipboard_store_lost",
    alert: "ChipboardStoreLost",
    runbook: `${OPERATE}/backup.md#only-the-snapshots-are-lost`,
    refusedAtStart: false,
  },
  condition: {
    gauge: null,
    alert: null,
    runbook: `${OPERATE}/s3-redis.md#the-s3-server`,
    refusedAtStart: false,
  },
  head: {
    gauge: "chipboard_snapshot_damaged",
    alert: "ChipboardSnapshotDamaged",
    runbook: `${OPERATE}/backup.md#damage`,
    refusedAtStart: false,
  },
  space: {
    gauge: null,
    alert: "ChipboardDiskFull",
    runbook: `${OPERATE}/backup.md#old-snapshots`,
    refusedAtStart: false,
  },
  state: {
    gauge: "chipboard_state_up",
    alert: "ChipboardStateDown",
    runbook: `${OPERATE}/troubleshooting.md#the-state-does-not-answer`,
    refusedAtStart: true,
  },
  writes: {
    gauge: "chipboard_state_readonly",
    alert: "ChipboardStateReadonly",
    runbook: `${OPERATE}/s3-redis.md#redis`,
    refusedAtStart: false,
  },
  policy: {
    gauge: "chipboard_state_evicts",
    alert: "ChipboardStateEvicts",
    runbook: `${OPERATE}/s3-redis.md#many-machines-s3-and-redis`,
    refusedAtStart: true,
  },
  age: {
    gauge: "chipboard_overdue_sessions",
    alert: "ChipboardSessionOverdue",
    runbook: `${OPERATE}/troubleshooting.md#a-publish-failed`,
    refusedAtStart: false,
  },
  unchanged: {
    gauge: "chipboard_unchanged_sessions",
    alert: "ChipboardFeedUnchanged",
    runbook: `${OPERATE}/sessions.md#a-feed-that-stands-still`,
    refusedAtStart: false,
  },
  still: {
    gauge: "chipboard_still_contracts",
    alert: "ChipboardContractsStill",
    runbook: `${OPERATE}/sessions.md#a-feed-that-stands-still`,
    refusedAtStart: false,
  },
  carried: {
    gauge: "chipboard_carried_contracts",
    alert: "ChipboardContractsCarried",
    runbook: `${OPERATE}/sessions.md#a-feed-that-stands-still`,
    refusedAtStart: false,
  },
  port: {
    gauge: null,
    alert: "ChipboardDown",
    runbook: `${OPERATE}/troubleshooting.md#the-proxy-does-not-serve`,
    refusedAtStart: true,
  },
  public: {
    gauge: null,
    alert: null,
    runbook: `${OPERATE}/troubleshooting.md#the-proxy-does-not-serve`,
    refusedAtStart: false,
  },
  "metrics-port": {
    gauge: null,
    alert: "ChipboardDown",
    runbook: `${OPERATE}/troubleshooting.md#the-proxy-does-not-serve`,
    refusedAtStart: false,
  },
  options: {
    gauge: null,
    alert: "ChipboardDown",
    runbook: `${OPERATE}/troubleshooting.md#the-proxy-does-not-serve`,
    refusedAtStart: true,
  },
  certificate: {
    gauge: "chipboard_certificate_end_timestamp_seconds",
    alert: "ChipboardCertificateEnds",
    runbook: `${OPERATE}/install.md#tls`,
    refusedAtStart: true,
  },
  units: ofJobs("troubleshooting.md#the-proxy-does-not-serve"),
  catalog: ofJobs("troubleshooting.md#a-publish-failed"),
  map: ofJobs("troubleshooting.md#a-publish-failed"),
  holidays: ofJobs("troubleshooting.md#a-publish-failed"),
  feeds: ofJobs("troubleshooting.md#a-publish-failed"),
  publish: ofJobs("troubleshooting.md#a-publish-failed"),
  prune: ofJobs("backup.md#old-snapshots"),
  backup: ofJobs("backup.md#backup"),
  drill: ofJobs("backup.md#the-drill"),
  timers: ofJobs("install.md#start"),
  notices: ofJobs("monitoring.md#notices"),
  ping: ofJobs("monitoring.md#notices"),
  memory: ofJobs("monitoring.md#notices"),
} as const satisfies Readonly<Record<string, CheckRow>>;

export type CheckName = keyof typeof CHECKS;

/** The limits of the alerts in deploy/monitoring. */
export const ALERT_LIMITS = {
  unchangedSessions: 4,
  certificateDays: 14,
  freeShare: 0.1,
  /** A backup is made each night, a prune each week. */
  backupHours: 36,
  pruneDays: 8,
} as const;

/** The lines of an error that a finding shows. */
const DETAILS_SHOWN = 5;

/** The outcome of a check. A note is no fault: its code is 0. Not watched: the option that it needs is not given. */
export interface Finding {
  readonly check: CheckName;
  readonly result: "ok" | "note" | "fault" | "unknown" | "not watched";
  /** As the command that meets the fault would exit; 3 for a limit of an alert. */
  readonly exitCode: ExitCode;
  readonly text: string;
  /** The next step; null: none. */
  readonly remedy: string | null;
}

export const ok = (check: CheckName, text: string): Finding => ({
  check,
  result: "ok",
  exitCode: EXIT.done,
  text,
  remedy: null,
});

export const note = (check: CheckName, text: string, remedy: string | null = null): Finding => ({
  ...ok(check, text),
  result: "note",
  remedy,
});

/** A check that another fault makes impossible. */
export const notKnown = (check: CheckName, why: string): Finding => ({
  ...ok(check, `not known: ${why}`),
  result: "unknown",
});

/** A check that needs options which are not given. */
export const notWatched = (check: CheckName, options: string): Finding => ({
  ...ok(check, `without ${options}`),
  result: "not watched",
});

/** A fault that the same command meets elsewhere, in its words and with its code. */
export const faultOf = (check: CheckName, error: ChipboardError, remedy: string): Finding => ({
  check,
  result: "fault",
  exitCode: error.exitCode,
  text: [error.message, ...shownDetails(error)].join("; "),
  remedy,
});

function shownDetails({ details }: ChipboardError): readonly string[] {
  const more = details.length - DETAILS_SHOWN;
  return more <= 0
    ? details
    : [...details.slice(0, DETAILS_SHOWN), `and ${counted(more, "more line")}`];
}

/** A limit of an alert that is exceeded. */
export const beyondLimit = (check: CheckName, text: string, remedy: string): Finding => ({
  check,
  result: "fault",
  exitCode: EXIT.refused,
  text,
  remedy,
});

/** The worst code: the highest. */
export const worstOf = (findings: readonly Finding[]): ExitCode =>
  findings.reduce<ExitCode>(
    (worst, { exitCode }) => (exitCode > worst ? exitCode : worst),
    EXIT.done,
  );

/** The result of `work`; a failure that a person can act on becomes a value. Throws other errors. */
export const orFailure = <T>(work: () => T | Promise<T>): Promise<T | ChipboardError> =>
  orError(ChipboardError, work);
