/** The units of deploy/, as systemd sees them: services that fail again and again, and timers that are off. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { counted } from "../lib/text.ts";
import { beyondLimit, notWatched, ok, type Finding } from "./checks.ts";

const PATIENCE_MS = 3_000;
const SERVICES = ["chipboard.service", "chipboard@*.service", "chipboard-mcp.service"];
const SOCKET = "chipboard.socket";
const PROPERTIES = ["Id", "LoadState", "ActiveState", "SubState", "NRestarts", "Listen"];
/** So many restarts between two looks are no single one. */
const RESTARTS_MAX = 1;

export type JobName = "publish" | "backup" | "prune";
const TIMERS: Readonly<Record<string, JobName>> = {
  "chipboard-publish.timer": "publish",
  "chipboard-backup.timer": "backup",
  "chipboard-prune.timer": "prune",
};

type Unit = Readonly<Record<string, string>>;

/** The units that are installed, by name; null: no systemd answers this user. */
export async function readUnits(): Promise<ReadonlyMap<string, Unit> | null> {
  const names = [SOCKET, ...SERVICES, ...Object.keys(TIMERS)];
  const words = ["show", "--no-pager", ...names, ...PROPERTIES.map((name) => `--property=${name}`)];
  const shown = await promisify(execFile)("systemctl", words, { timeout: PATIENCE_MS }).catch(
    () => null,
  );
  if (shown === null) return null;
  const units = shown.stdout
    .trim()
    .split(/\n{2,}/)
    .map((block) => Object.fromEntries(block.split("\n").map((line) => line.split(/=(.*)/s, 2))))
    .filter((unit: Unit) => unit["LoadState"] === "loaded")
    .map((unit: Unit): [string, Unit] => [unit["Id"] ?? "", unit]);
  return new Map(units);
}

/** The address that chipboard.socket keeps open, such as 127.0.0.1:8443; null: systemd keeps none. */
export function addressOf(units: ReadonlyMap<string, Unit> | null): string | null {
  const socket = units?.get(SOCKET);
  if (socket?.["ActiveState"] !== "active") return null;
  return /^(\S+) \(Stream\)/.exec(socket["Listen"] ?? "")?.[1] ?? null;
}

/**
 * Whether services fail and start again and again. `before` has the restarts of the look before, and gets the
 * restarts of this one; `wasFault`: whether that look found a fault, which ends with a look without a restart.
 */
export function checkUnits(
  units: ReadonlyMap<string, Unit> | null,
  before: Record<string, number>,
  wasFault: boolean,
): Finding {
  const services = [...(units ?? [])].filter(([name]) => name.endsWith(".service"));
  if (services.length === 0) return notWatched("units", "chipboard's units of systemd");
  const texts = services.flatMap(([name, unit]) => {
    const restarts = Number(unit["NRestarts"] ?? 0);
    // systemd counts from 0 again after a start by hand.
    const earlier = before[name] ?? restarts;
    const more = restarts >= earlier ? restarts - earlier : restarts;
    before[name] = restarts;
    const isAgain = unit["SubState"] === "auto-restart" || more > (wasFault ? 0 : RESTARTS_MAX);
    return isAgain ? [`${name} fails and starts again (${counted(restarts, "restart")})`] : [];
  });
  return texts.length === 0
    ? ok("units", `${services.map(([name]) => name).join(", ")}: no unit starts again and again`)
    : beyondLimit(
        "units",
        texts.join("; "),
        "journalctl --unit chipboard says why; correct it, and it starts by itself",
      );
}

/** Whether the timers of `jobs`, those that this service has, are on. */
export function checkTimers(
  units: ReadonlyMap<string, Unit> | null,
  jobs: ReadonlySet<JobName>,
): Finding {
  const timers = [...(units ?? [])].filter(([name]) => jobs.has(TIMERS[name] as JobName));
  if (timers.length === 0)
    return notWatched("timers", "timers of systemd for jobs of this service");
  const off = timers.filter(([, unit]) => unit["ActiveState"] !== "active").map(([name]) => name);
  return off.length === 0
    ? ok("timers", `${timers.map(([name]) => name).join(", ")}: on`)
    : beyondLimit("timers", `${off.join(", ")}: off`, `systemctl enable --now ${off.join(" ")}`);
}
