/** Parallel processes that count in one state. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Subject } from "../../src/ports/state.ts";

const CHILD = join(import.meta.dirname, "counting-child.ts");

export class CountingProcess {
  readonly #child: ChildProcess;
  /** The count in the answer to each granted call. */
  readonly told: number[] = [];
  readonly #ended: Promise<unknown>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "close");
    child.on("message", (message) => {
      if (typeof message === "number") this.told.push(message);
    });
  }

  /** Starts a process that is ready to count calls of `subject` with so many callers, up to the limit. */
  static async start(
    location: string,
    subject: Subject,
    callers: number,
    limit: number,
  ): Promise<CountingProcess> {
    const words = [location, subject, String(callers), String(limit)];
    const started = new CountingProcess(fork(CHILD, words));
    await once(started.#child, "message");
    return started;
  }

  begin(): void {
    this.#child.send("begin");
  }

  /** Resolves when the limit is reached and the process has ended. */
  async end(): Promise<void> {
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
