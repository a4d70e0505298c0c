/**
 * A load that is stopped and continued (SIGSTOP, SIGCONT) while its connections stay open,
 * so that several loads can take turns of a fraction of a second on the same core.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { endWithUs } from "../../test/program/program.ts";
import { cpuSeconds } from "./server-process.ts";
import { CONNECTIONS, readSummary, startLoad, type Load, type Loaded } from "./wrk.ts";

/** Time for the connections to open, and to read a file of a million lines before. */
const OPEN_MS = { plain: 250, lines: 2_500 };
/** Time for the server to answer open requests, so that it does not answer in another load's turn. */
const DRAIN_MS = 40;

/**
 * wrk's main thread sleeps until a signal wakes it. A signal that comes when the process continues may
 * be taken by the other thread, which stops the load and leaves the main thread asleep.
 */
const TOLD_AGAIN_MS = 200;

/** The sums of all turns; `seconds` is their total time. */
export interface SlicedLoaded extends Loaded {
  /** Answers per second, within the turns. */
  readonly perSecond: number;
  /** Processor time of the server within the turns. */
  readonly serverSeconds: number;
}

/** The time of a turn (milliseconds of this process), and the server's processor time in it. */
interface Turn {
  readonly startMs: number;
  readonly endMs: number;
  readonly serverSeconds: number;
}

export class SlicedLoad {
  readonly #load: Load;
  readonly #serverPid: number;
  readonly #child: ChildProcess;
  readonly #output: Promise<string>;
  readonly #turns: Turn[] = [];

  /** Starts the load, and stops it when its connections are open. */
  static async open(load: Load, serverPid: number): Promise<SlicedLoad> {
    const sliced = new SlicedLoad(load, serverPid);
    await sliced.#turn(load.lines === undefined ? OPEN_MS.plain : OPEN_MS.lines);
    return sliced;
  }

  private constructor(load: Load, serverPid: number) {
    const child = startLoad(load);
    endWithUs(child);
    this.#load = load;
    this.#serverPid = serverPid;
    this.#child = child;
    this.#output = text(child.stdout);
  }

  /** Continues the load for one turn. */
  async slice(milliseconds: number): Promise<void> {
    this.#child.kill("SIGCONT");
    await this.#turn(milliseconds);
  }

  /** Ends the load, which takes a last short turn for it. Throws as `sendLoad` does. */
  async end(): Promise<SlicedLoaded> {
    const ended = once(this.#child, "exit");
    const lastTurn = this.#begin();
    this.#child.kill("SIGCONT");
    this.#child.kill("SIGINT");
    const again = setInterval(() => this.#child.kill("SIGINT"), TOLD_AGAIN_MS);
    await ended;
    clearInterval(again);
    this.#turns.push(lastTurn());
    const loaded = readSummary(this.#load, await this.#output);
    // wrk measures from its first request on, so the first turn counts from then on.
    const beganMs = performance.now() - loaded.seconds * 1_000;
    let awakeMs = 0;
    let serverSeconds = 0;
    for (const turn of this.#turns) {
      awakeMs += Math.max(0, turn.endMs - Math.max(beganMs, turn.startMs));
      serverSeconds += turn.serverSeconds;
    }
    // Requests that are open at the end of a turn are answered between turns.
    const answered = loaded.requests - (this.#turns.length - 1) * CONNECTIONS;
    const seconds = awakeMs / 1_000;
    return { ...loaded, seconds, perSecond: answered / seconds, serverSeconds };
  }

  async #turn(milliseconds: number): Promise<void> {
    const turn = this.#begin();
    await delay(milliseconds);
    this.#child.kill("SIGSTOP");
    this.#turns.push(turn());
    await delay(DRAIN_MS);
  }

  /** Begins a turn; the function returned ends it. */
  #begin(): () => Turn {
    const startMs = performance.now();
    const before = cpuSeconds(this.#serverPid);
    return () => ({
      startMs,
      endMs: performance.now(),
      serverSeconds: cpuSeconds(this.#serverPid) - before,
    });
  }
}
