/**
 * One proxy in several processes on one machine. All workers listen on one port, and the kernel
 * shares the connections out; where it cannot, the primary does (node:cluster). The primary holds
 * the state, and starts a worker anew when one dies; the workers answer requests, and ask the
 * primary about keys and quota (see access/relay.ts), so that limits hold exactly. Without the
 * primary nobody counts: the workers end with it.
 *
 *   worker → primary   {"chipboard":"begin"}
 *   primary → worker   {"chipboard":"settings","settings":{…},"nowMs":1795253400000}
 *   worker → primary   {"chipboard":"serving","url":"http://127.0.0.1:8080"}
 *                      {"chipboard":"failed","exitCode":5,"message":"…","details":[]}
 *   primary → worker   {"chipboard":"end"}
 */
import cluster, { type Worker } from "node:cluster";
import { createServer } from "node:http";
import type { Gatekeeper } from "../access/gatekeeper.ts";
import { isOurs, tell } from "../access/channel.ts";
import { answerWorker, openRelay } from "../access/relay.ts";
import type { StateGatekeeper } from "../access/state.ts";
import { createClock, instantText, type Clock } from "../clock.ts";
import { ChipboardError, UnreachableError, type ExitCode } from "../errors.ts";
import { listen } from "./listen.ts";
import type { Logger } from "./log.ts";
import { answerMeasure, WorkerMetrics } from "./worker-metrics.ts";

/**
 * Whether the kernel may share the port out. The connections that node:cluster has handed to a
 * worker in the moment it dies stay open, and are never answered; the kernel resets them.
 */
export const KERNEL_SHARES_PORT = process.platform === "linux";

/** A worker that dies sooner than this after its start is not started again at once. */
const RESTART_PAUSE_MS = 1_000;
/** After this long a worker that shall end is ended. Longer than a proxy takes at most. */
const END_PATIENCE_MS = 40_000;

type Message =
  | { readonly chipboard: "begin" | "end" }
  | { readonly chipboard: "settings"; readonly settings: WorkerSettings; readonly nowMs: number }
  | { readonly chipboard: "serving"; readonly url: string }
  | {
      readonly chipboard: "failed";
      readonly exitCode: ExitCode;
      readonly message: string;
      readonly details: readonly string[];
    };

/** What a worker is told; it must survive JSON. */
interface WorkerSettings {
  readonly host: string;
  /** 0: any free one, the same for all. */
  readonly port: number;
}

interface WorkersOptions {
  /** The script of a worker; it calls `runWorker`. */
  readonly entry: string;
  /** How many. */
  readonly count: number;
  readonly settings: WorkerSettings;
  readonly gatekeeper: StateGatekeeper;
  readonly clock: Clock;
  readonly log: Logger;
}

interface RunningWorkers {
  readonly url: string;
  /** The workers' metrics together, for Prometheus. */
  metrics(): Promise<string>;
  /** Lets the workers finish what is in flight, and resolves when all have ended. */
  close(): Promise<void>;
}

/**
 * Starts the workers; resolves when all of them serve. Throws what kept one of them from serving,
 * with none left behind.
 */
export async function startWorkers(options: WorkersOptions): Promise<RunningWorkers> {
  const workers = new Workers(options);
  try {
    const url = await workers.start();
    return { url, metrics: () => workers.metrics(), close: () => workers.close() };
  } catch (error) {
    await workers.close();
    throw error;
  }
}

/** What a worker runs: a proxy, or all that it needs to end in order. */
interface WorkerProxy {
  readonly url: string;
  metrics(): Promise<object[]>;
  close(): Promise<void>;
}

/**
 * The life of a worker: `start` is called with what the primary says, and what it returns is closed
 * when the primary, SIGTERM or SIGINT says so. The process ends then, and when the primary is gone.
 */
export async function runWorker(
  start: (settings: WorkerSettings, clock: Clock, gatekeeper: Gatekeeper) => Promise<WorkerProxy>,
): Promise<void> {
  const ended = nextEnd();
  try {
    const { settings, nowMs } = await askForSettings();
    // Whatever clock the primary lives by, it is this one's, too.
    const clock = createClock(instantText(nowMs));
    const gatekeeper = await openRelay(process, clock);
    const proxy = await start(settings, clock, gatekeeper);
    answerMeasure(process, () => proxy.metrics());
    tell(process, { chipboard: "serving", url: proxy.url } satisfies Message);
    await ended;
    await proxy.close();
    await gatekeeper.close();
  } catch (error) {
    if (!(error instanceof ChipboardError)) throw error;
    const { exitCode, message, details } = error;
    await new Promise((resolve) => {
      process.send?.({ chipboard: "failed", exitCode, message, details }, resolve);
    });
  }
  // The channel is all that is left; node:cluster ends the process with it.
  process.disconnect();
}

class Workers {
  readonly #options: WorkersOptions;
  readonly #alive = new Map<Worker, PromiseWithResolvers<void>>();
  readonly #metrics = new WorkerMetrics();
  /** Found before the first worker starts: one that is started later shall find the same. */
  #port = 0;
  #url: string | null = null;
  #isClosing = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    cluster.setupPrimary({ exec: options.entry, args: [] });
  }

  async start(): Promise<string> {
    const { count, settings } = this.#options;
    this.#port = await freePort(settings);
    const urls = await Promise.all(Array.from({ length: count }, () => this.#startOne()));
    return urls[0] as string;
  }

  metrics(): Promise<string> {
    return this.#metrics.text();
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const force = setTimeout(() => {
      for (const worker of this.#alive.keys()) worker.process.kill("SIGKILL");
    }, END_PATIENCE_MS);
    for (const worker of this.#alive.keys()) tell(worker, { chipboard: "end" } satisfies Message);
    await Promise.all([...this.#alive.values()].map(({ promise }) => promise));
    clearTimeout(force);
  }

  /** Resolves with the worker's address; rejects with what it failed with before it served. */
  #startOne(): Promise<string> {
    const { gatekeeper, clock, settings, log } = this.#options;
    const startedAt = performance.now();
    const worker = cluster.fork();
    const gone = Promise.withResolvers<void>();
    const serving = Promise.withResolvers<string>();
    this.#alive.set(worker, gone);
    answerWorker(gatekeeper, worker);
    this.#metrics.add(worker);
    let failure: ChipboardError | null = null;
    worker.on("message", (message: unknown) => {
      if (!isMessage(message)) return;
      if (message.chipboard === "begin") {
        const told = { ...settings, port: this.#port };
        tell(worker, {
          chipboard: "settings",
          settings: told,
          nowMs: clock.now(),
        } satisfies Message);
      } else if (message.chipboard === "serving") {
        this.#url ??= message.url;
        serving.resolve(message.url);
      } else if (message.chipboard === "failed") {
        failure = new ChipboardError(message.exitCode, message.message, message.details);
      }
    });
    // A channel that breaks says so by "exit", which follows.
    worker.on("error", () => undefined);
    worker.once("exit", (code, signal) => {
      this.#alive.delete(worker);
      gone.resolve();
      const early = `A worker ended with ${signal ?? code} before it served`;
      serving.reject(failure ?? new UnreachableError(early));
      if (this.#isClosing || this.#url === null) return;
      const pid = worker.process.pid;
      log.error({ pid, code, signal, err: failure }, "worker died; another one is started");
      const livedMs = performance.now() - startedAt;
      setTimeout(() => this.#restart(), Math.max(0, RESTART_PAUSE_MS - livedMs));
    });
    return serving.promise;
  }

  #restart(): void {
    if (this.#isClosing) return;
    // Where it fails its "exit" is logged, and brings about the next one.
    this.#startOne().catch(() => undefined);
  }
}

/** The port of the settings, proven to be nobody else's: those who share ports share with anybody. */
async function freePort({ host, port: wanted }: WorkerSettings): Promise<number> {
  const server = createServer();
  const { port } = new URL(await listen(server, "--port", "tcp", host, wanted));
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return Number(port);
}

function askForSettings(): Promise<Extract<Message, { chipboard: "settings" }>> {
  return new Promise((resolve) => {
    const onMessage = (message: unknown): void => {
      if (!isMessage(message) || message.chipboard !== "settings") return;
      process.off("message", onMessage);
      resolve(message);
    };
    process.on("message", onMessage);
    tell(process, { chipboard: "begin" } satisfies Message);
  });
}

/** Resolves when the primary or a signal says that it is time. */
const nextEnd = (): Promise<void> =>
  new Promise((resolve) => {
    process.once("SIGTERM", () => resolve()).once("SIGINT", () => resolve());
    process.on("message", (message) => {
      if (isMessage(message) && message.chipboard === "end") resolve();
    });
  });

const isMessage = (message: unknown): message is Message => isOurs(message);
