/** A proxy of the soak: a real `serve` that can be killed, ended, stopped and started again. */
import { once } from "node:events";
import { serve, type Serving } from "../../test/program/program.ts";
import type { ClockStep } from "./soak-clock.ts";

const CLOCK = new URL("./soak-clock.ts", import.meta.url).pathname;
const STDERR_SHOWN = 4_000;

/** What /readyz says. If it is not ready, only `httpStatus` and `text`. */
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
  /** It serves this publication or a later one. */
  settled = 0;
  /** It is being ended or started, so connections may break. */
  isDisturbed = false;
  readonly #args: readonly string[];
  #serving: Serving | null = null;

  constructor(name: string, args: readonly string[]) {
    this.name = name;
    this.#args = args;
  }

  get url(): string {
    return this.#running().url;
  }

  /** The end of its log. */
  get stderr(): string {
    return this.#serving?.stderr().slice(-STDERR_SHOWN) ?? "";
  }

  get isUp(): boolean {
    return this.#serving !== null;
  }

  /** Starts the process in this environment; resolves when it listens. */
  async start(env: Readonly<Record<string, string>>): Promise<void> {
    const args = ["--metrics-port", "0", "--json", ...this.#args];
    const serving = await serve(args, { env, preload: CLOCK });
    // It is not known yet which publication it serves.
    this.settled = 0;
    this.#serving = serving;
  }

  /** Puts its clock forward. */
  async step(stepMs: number): Promise<void> {
    const { child } = this.#running();
    const taken = once(child, "message");
    const step: ClockStep = { stepMs };
    child.send(step);
    await taken;
  }

  /** Sends a signal that ends it; resolves with the exit code or the signal. */
  async end(signal: "SIGKILL" | "SIGTERM"): Promise<number | string> {
    const ended = this.#running().end(signal);
    // With SIGKILL it answers no more calls; with SIGTERM it finishes open ones.
    if (signal === "SIGKILL") this.#serving = null;
    const how = await ended;
    this.#serving = null;
    return how;
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#running().child.kill(signal);
  }

  async readiness(): Promise<Readiness> {
    const response = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(10_000) });
    const text = await response.text();
    return { ...(JSON.parse(text) as object), httpStatus: response.status, text };
  }

  async rssBytes(): Promise<number> {
    const metrics = await (await fetch(String(this.#running().metricsUrl))).text();
    const found = /^process_resident_memory_bytes (\S+)$/m.exec(metrics);
    if (found === null) throw new Error(`${this.name} has no metric of its memory`);
    return Number(found[1]);
  }

  #running(): Serving {
    if (this.#serving === null) throw new Error(`${this.name} does not run`);
    return this.#serving;
  }
}
