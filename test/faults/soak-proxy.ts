/** One of the soak's proxies: a real `serve`, killed, ended, stopped and started again at will. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { endWithUs } from "../bench/child.ts";
import { BIN } from "../bench/program.ts";
import type { ClockStep } from "./soak-clock.ts";
import { within } from "./soak-time.ts";

const CLOCK = new URL("./soak-clock.ts", import.meta.url).pathname;
const STDERR_KEPT = 4_000;

/** What /readyz says; only the status where it is not ready. */
export interface Readiness {
  readonly httpStatus: number;
  readonly text: string;
  readonly snapshot?: string;
  readonly publication?: number;
  readonly overdue?: number;
  readonly state?: string;
  readonly store?: string;
}

export class SoakProxy {
  readonly name: string;
  /** The publication it is known to serve, or a later one. */
  settled = 0;
  /** It is being killed, ended or started: connections may break. */
  isDisturbed = false;
  readonly #args: readonly string[];
  #child: ChildProcess | null = null;
  #url = "";
  #metricsUrl = "";
  #stderr = "";

  constructor(name: string, args: readonly string[]) {
    this.name = name;
    this.#args = args;
  }

  get url(): string {
    return this.#url;
  }

  /** The end of what it logged. */
  get stderr(): string {
    return this.#stderr;
  }

  get isUp(): boolean {
    return this.#child !== null;
  }

  /** Starts the process in this environment; resolves when it listens. */
  async start(env: Readonly<Record<string, string>>): Promise<void> {
    const ports = ["--port", "0", "--metrics-port", "0", "--json"];
    const child = spawn(
      process.execPath,
      ["--import", CLOCK, BIN, "serve", ...ports, ...this.#args],
      { env, stdio: ["ignore", "pipe", "pipe", "ipc"] },
    );
    endWithUs(child);
    let stdout = "";
    this.#stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT);
    });
    await within(30_000, `${this.name} listens`, () => {
      if (child.exitCode !== null) throw new Error(`${this.name} ended: ${this.#stderr}`);
      return stdout.includes("\n");
    });
    const { url, metrics_url: metricsUrl } = JSON.parse(stdout) as Record<string, string>;
    // Which publication it serves is not known yet.
    this.settled = 0;
    this.#url = url as string;
    this.#metricsUrl = metricsUrl as string;
    this.#child = child;
  }

  /** Puts its clock forward. */
  async step(stepMs: number): Promise<void> {
    const child = this.#running();
    const told = once(child, "message");
    const step: ClockStep = { stepMs };
    child.send(step);
    await told;
  }

  /** Sends a signal that ends it, and resolves with its exit code, or the signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | string> {
    const child = this.#running();
    const ended = once(child, "exit") as Promise<[number | null, string | null]>;
    child.kill(signal);
    // A process that is being killed answers nobody; one that ends finishes what it began.
    if (signal === "SIGKILL") this.#child = null;
    const [code, by] = await ended;
    this.#child = null;
    return by ?? code ?? "gone";
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#running().kill(signal);
  }

  async readiness(): Promise<Readiness> {
    const response = await fetch(`${this.#url}/readyz`, { signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    return { ...(JSON.parse(text) as object), httpStatus: response.status, text };
  }

  /** Resident memory. */
  async rssBytes(): Promise<number> {
    const metrics = await (await fetch(this.#metricsUrl)).text();
    const found = /^process_resident_memory_bytes (\S+)$/m.exec(metrics);
    if (found === null) throw new Error(`${this.name} does not tell its memory`);
    return Number(found[1]);
  }

  #running(): ChildProcess {
    if (this.#child === null) throw new Error(`${this.name} does not run`);
    return this.#child;
  }
}
