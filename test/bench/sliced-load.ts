/**
 * A load that is put to sleep and woken again (SIGSTOP, SIGCONT) while its connections stay open,
 * so that several loads can take turns of a fraction of a second on the same core.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { endWithUs } from "./child.ts";
import { cpuSeconds } from "./server.ts";
import { CONNECTIONS, readSummary, startLoad, type Load, type Loaded } from "./wrk.ts";

/** For the connections to open; a file of a million lines must be read before. */
const OPEN_MS = { plain: 250, lines: 2_500 };
/** For the server to answer what is in flight, so that it does not answer in another's turn. */
const DRAIN_MS = 40;

/**
 * wrk's main thread sleeps until a signal wakes it. One that comes just as the process goes on may
 * be taken by the other thread, which stops the load and leaves the main thread asleep.
 */
const TOLD_AGAIN_MS = 200;

/** What came of all turns together; `seconds` is the time of the turns. */
export interface SlicedLoaded extends Loaded {
  /** Answers that were sent within the turns, for each second of them. */
  readonly perSecond: number;
  /** Processor time that the server took within the turns. */
  readonly serverSeconds: number;
}

/** When the load was awake (milliseconds of this process), and what the server used meanwhile. */
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

  /** Starts the load, and puts it to sleep when its connections are open. */
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

  /** Wakes the load for one turn. */
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
    // wrk measures from when it began to send; only from then on the first turn counts.
    const beganMs = performance.now() - loaded.seconds * 1_000;
    let awakeMs = 0;
    let serverSeconds = 0;
    for (const turn of this.#turns) {
      awakeMs += Math.max(0, turn.endMs - Math.max(beganMs, turn.startMs));
      serverSeconds += turn.serverSeconds;
    }
    // What is in flight when a turn ends is answered in nobody's time.
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
