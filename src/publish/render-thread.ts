/**
 * A second thread that renders beside the first one, so that a large market has both cores. It is
 * given the same order and draws from the same numbers; afterwards it makes bytes on demand while
 * the first thread writes.
 */
import { Worker } from "node:worker_threads";
import { scriptBeside } from "../script.ts";
import type { RenderOrder } from "./render-order.ts";
import type { Rendered } from "./rendering.ts";

/** Left to itself it grows to three times as much. */
const YOUNG_GENERATION_MB = 24;

/**
 * What the thread is asked: to draw numbers of jobs from `drawn`, which both threads share, or for the
 * bytes of one job.
 */
export type Question =
  | { readonly order: RenderOrder; readonly drawn: Int32Array; readonly keptBytesMax: number }
  | { readonly number: number };

/** What it says. `bytes` are handed over, not copied. */
export type Answer =
  | { readonly rendered: readonly Rendered[] }
  | { readonly number: number; readonly bytes: Uint8Array<ArrayBuffer> };

interface Waiting<T> {
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/** The thread as the first one sees it. Both calls reject once it has failed. */
export class RenderThread {
  readonly #worker = new Worker(scriptBeside(import.meta.url, "render-worker"), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  readonly #bytes = new Map<number, Waiting<Uint8Array>>();
  #run: Waiting<readonly Rendered[]> | null = null;
  #failure: Error | null = null;

  constructor() {
    this.#worker.on("message", (answer: Answer) => this.#take(answer));
    this.#worker.on("error", (error) => this.#fail(error as Error));
  }

  /** Lets the thread draw jobs of the order; resolves with what it made, when none is left. */
  run(order: RenderOrder, drawn: Int32Array, keptBytesMax: number): Promise<readonly Rendered[]> {
    return new Promise((resolve, reject) => {
      this.#run = { resolve, reject };
      this.#ask({ order, drawn, keptBytesMax });
    });
  }

  /** The bytes of a job of the last order. */
  bytes(number: number): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#bytes.set(number, { resolve, reject });
      this.#ask({ number });
    });
  }

  /** Ends the thread, whatever it is at. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(question: Question): void {
    if (this.#failure === null) this.#worker.postMessage(question, []);
    else this.#fail(this.#failure);
  }

  #take(answer: Answer): void {
    if ("rendered" in answer) return this.#run?.resolve(answer.rendered);
    this.#bytes.get(answer.number)?.resolve(answer.bytes);
    this.#bytes.delete(answer.number);
  }

  #fail(error: Error): void {
    this.#failure = error;
    this.#run?.reject(error);
    this.#bytes.forEach(({ reject }) => reject(error));
    this.#bytes.clear();
  }
}
