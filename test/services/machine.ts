/**
 * A machine for a test: systemd, started on a copy of this machine's files in namespaces of its own. Commands
 * there change nothing here: files are kept in memory, users, processes and the network are its own. Needs
 * the rights of root and systemd.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Ran } from "../program/program.ts";
import { eventually } from "../http/fixture.ts";

const SPACES = ["mount", "pid", "net", "uts", "ipc"].map((space) => `--${space}`);

/** Whether this machine lets a test start one. */
export function canBoot(): boolean {
  try {
    execFileSync(
      "unshare",
      ["--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
      {
        stdio: "ignore",
      },
    );
    return existsSync("/lib/systemd/systemd");
  } catch {
    return false;
  }
}

export class Machine {
  readonly #folder: string;
  readonly #keeper: ChildProcess;
  #printed = "";
  /** The process number of systemd, as seen from here. */
  #pid = 0;

  /** `checkout` is /srv/checkout there. Call `boot` next. */
  constructor(checkout: string) {
    this.#folder = mkdtempSync(join(tmpdir(), "chipboard-machine-"));
    const boot = [join(import.meta.dirname, "boot"), this.#folder, checkout];
    const own = [...SPACES, "--fork", "--kill-child", "--propagation", "private"];
    // It ends with this process, whatever ends that.
    this.#keeper = spawn("setpriv", ["--pdeathsig", "KILL", "unshare", ...own, ...boot], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#keeper.stderr?.on("data", (text) => (this.#printed += String(text)));
  }

  /** Resolves when systemd has started. */
  async boot(): Promise<void> {
    const pid = this.#keeper.pid ?? 0;
    await eventually(async () => {
      if (this.#keeper.exitCode !== null) throw new Error(`it did not start: ${this.#printed}`);
      this.#pid = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
      if (this.#pid === 0 || readFileSync(`/proc/${this.#pid}/comm`, "utf8") !== "systemd\n")
        return false;
      return (await this.run("systemctl is-system-running")).stdout === "running\n";
    });
  }

  /** Runs a shell script there as root, to its end or to its first failure. */
  run(script: string, env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    return new Promise((resolve) => {
      const target = ["--target", String(this.#pid), ...SPACES, "--cgroup", "--root", "--wd"];
      const child = execFile(
        "nsenter",
        [...target, "bash", "-ec", `cd /root\n${script}`],
        {
          env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", HOME: "/root", ...env },
        },
        (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
      );
    });
  }

  /** The same. Throws the output if it fails. */
  async expect(script: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(script);
    if (code === 0) return stdout;
    throw new Error(`exit code ${code} of:\n${script}\n${stdout}\n${stderr}`);
  }

  /** Writes a file there. */
  async write(path: string, text: string, mode = "0644"): Promise<void> {
    const quoted = `'${text.replaceAll("'", `'\\''`)}'`;
    await this.expect(`printf %s ${quoted} > ${path}; chmod ${mode} ${path}`);
  }

  /** Ends all its processes; its files go with them. */
  async close(): Promise<void> {
    const ended = once(this.#keeper, "close");
    // With the first process all others end, before `unshare` does.
    if (this.#pid === 0) this.#keeper.kill("SIGKILL");
    else process.kill(this.#pid, "SIGKILL");
    await ended;
    await rm(this.#folder, { recursive: true });
    for (const line of readFileSync("/proc/mounts", "utf8").split("\n")) {
      const [, place = "", type] = line.split(" ");
      const group = join(place, basename(this.#folder));
      // A group goes when all groups below it are gone; `rm` would want to remove its files.
      if (type === "cgroup2" && existsSync(group)) {
        execFileSync("find", [group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
      }
    }
  }
}
