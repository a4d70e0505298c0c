/**
 * The S3 server and the Redis of the tests: those that the environment names, or
 * new ones, which end with `stop` or with this process. If their programs are not installed, the
 * tests that need them are skipped with a message; in CI that is a failure.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TestService {
  /** The variables that `test/services/start` writes: addresses, bucket, keys. */
  readonly env: Readonly<Record<string, string>>;
  /** Process ids by name (mon, osd, rgw, redis); empty if the environment names the service. */
  readonly pids: Readonly<Record<string, number>>;
  stop(): void;
}

const SERVICES = {
  s3: {
    variable: "CHIPBOARD_TEST_S3_ENDPOINT",
    programs: ["radosgw", "radosgw-admin", "ceph", "ceph-mon", "ceph-osd", "curl"],
  },
  redis: { variable: "CHIPBOARD_TEST_REDIS_URL", programs: ["redis-server", "redis-cli"] },
} as const;

/**
 * The service, or null if it is not available. `fresh`: always a new one, which a test may
 * stop and break. In CI throws instead of returning null.
 */
export function testService(name: keyof typeof SERVICES, fresh = false): TestService | null {
  const { variable, programs } = SERVICES[name];
  if (!fresh && process.env[variable] !== undefined) {
    return { env: given(), pids: {}, stop: () => {} };
  }
  if (!fresh && process.env["CI"] !== undefined) {
    throw new Error(`${variable} is not set: in CI the ${name} tests may not be left out`);
  }
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length > 0) {
    const message = `not tested: ${name}: ${missing.join(", ")} not installed (see test/services/install)`;
    if (process.env["CI"] !== undefined) throw new Error(message);
    console.warn(message);
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), `chipboard-${name}-`));
  execFileSync(script("start"), [folder, name], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, SERVICES_OWNER_PID: String(process.pid) },
  });
  return {
    env: Object.fromEntries(lines(folder, "env").map((line) => split(line, "="))),
    pids: Object.fromEntries(
      lines(folder, "pids").map((line) => {
        const [process, pid] = split(line, " ");
        return [process, Number(pid)];
      }),
    ),
    stop: () => {
      execFileSync(script("stop"), [folder]);
    },
  };
}

const script = (name: string): string => join(import.meta.dirname, name);

const lines = (folder: string, file: string): string[] =>
  readFileSync(join(folder, file), "utf8").trimEnd().split("\n");

function split(line: string, separator: string): [string, string] {
  const at = line.indexOf(separator);
  return [line.slice(0, at), line.slice(at + 1)];
}

function given(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && /^(AWS_|CHIPBOARD_TEST_)/.test(entry[0]),
  );
  return Object.fromEntries(entries);
}

function isInstalled(program: string): boolean {
  try {
    execFileSync("/bin/sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
