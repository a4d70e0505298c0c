/**
 * Makes the coded forms of bodies (br, gzip) beside the answers: in a thread of its own, one body
 * after another, which on Linux gets a tenth of a core that others want. So a snapshot of any size is
 * prepared under load without answers waiting long for it. (The lowest priority would be a hundredth:
 * on a core that answers keep busy a snapshot of 110 contracts then takes half a minute to load.)
 *
 * The thread is started when there is something to do, and ends when there is nothing for a while.
 */
import { Worker } from "node:worker_threads";
import { scriptBeside } from "../script.ts";
import type { Coding } from "./content-coding.ts";

const IDLE_MS = 1_000;
/** It holds next to nothing on its heap; bodies are outside of it. */
const YOUNG_MB = 2;
const OLD_MB = 64;

/** A body's forms that are smaller than it. */
export type CodedForms = ReadonlyMap<Coding, Buffer>;

/** What the thread sends back for a body: both forms, whether smaller or not. */
export interface CodedMessage {
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

interface Job {
  readonly plain: Buffer;
  readonly resolve: (forms: CodedForms) => void;
}

const queue: Job[] = [];
let running: Job | null = null;
let worker: Worker | null = null;
let idle: NodeJS.Timeout | undefined;

/**
 * The forms of `plain` that are smaller than it. Never rejects: where the thread fails there are
 * none, the process is warned, and the next body gets another thread.
 */
export function codedForms(plain: Buffer): Promise<CodedForms> {
  return new Promise((resolve) => {
    queue.push({ plain, resolve });
    next();
  });
}

function next(): void {
  if (running !== null) return;
  running = queue.shift() ?? null;
  clearTimeout(idle);
  if (running === null) {
    idle = setTimeout(letGo, IDLE_MS).unref();
    return;
  }
  worker ??= start();
  worker.postMessage(running.plain, []);
}

function start(): Worker {
  const started = new Worker(scriptBeside(import.meta.url, "coder-worker"), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB, maxOldGenerationSizeMb: OLD_MB },
  });
  started.unref();
  started.on("message", ({ br, gzip }: CodedMessage) => {
    const forms = new Map<Coding, Buffer>();
    const bytes = running?.plain.length ?? 0;
    if (br.length < bytes) forms.set("br", Buffer.from(br.buffer));
    if (gzip.length < bytes) forms.set("gzip", Buffer.from(gzip.buffer));
    settle(forms);
  });
  let failure: unknown = new Error("The thread that codes bodies has ended");
  started.on("error", (error) => (failure = error));
  started.on("exit", () => {
    // One that was let go of leaves nothing behind; what runs now is another's.
    if (worker !== started) return;
    worker = null;
    process.emitWarning(
      `A body of ${running?.plain.length ?? 0} bytes is not coded: ${String(failure)}`,
    );
    settle(new Map());
  });
  return started;
}

/** Ends the thread. It takes a moment to end: a body that comes meanwhile is for the next one. */
function letGo(): void {
  const idleWorker = worker;
  worker = null;
  void idleWorker?.terminate();
}

function settle(forms: CodedForms): void {
  running?.resolve(forms);
  running = null;
  next();
}
