/**
 * A crowd of slow clients in a thread of its own, so that the thousands of single bytes that they
 * send and read do not slow the ordinary callers of the main thread.
 */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import {
  isMainThread,
  parentPort,
  Worker,
  workerData,
  type MessagePort,
} from "node:worker_threads";
import { SlowClients, type Crowd, type SlowEnd } from "./slow-clients-crowd.ts";

/** How long a crowd stays at most. */
export interface Stay {
  /** Time for the proxy to disconnect the senders. */
  readonly sendersMs: number;
  /** Time since the crowd connected after which readers read without a pause. */
  readonly readersMs: number;
  /** How long they then read. */
  readonly readMs: number;
}

export interface Ends {
  readonly senders: readonly SlowEnd[];
  readonly readers: readonly SlowEnd[];
}

export class CrowdThread {
  readonly #worker: Worker;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Resolves when all clients are connected. */
  static async open(crowd: Crowd): Promise<CrowdThread> {
    const worker = new Worker(new URL(import.meta.url), { workerData: crowd });
    await once(worker, "message");
    return new CrowdThread(worker);
  }

  /** Closes all connections at once. */
  async leave(): Promise<void> {
    await this.#finish(null);
  }

  /** Stays until the proxy has reached its limits; then all leave. */
  stay(how: Stay): Promise<Ends> {
    return this.#finish(how);
  }

  async #finish(stay: Stay | null): Promise<Ends> {
    const exit = once(this.#worker, "exit");
    const answer = once(this.#worker, "message");
    this.#worker.postMessage(stay, []);
    const [ends] = (await answer) as [Ends];
    await exit;
    return ends;
  }
}

async function run(crowd: Crowd, port: MessagePort): Promise<void> {
  const clients = await SlowClients.open({ ...crowd, body: Buffer.from(crowd.body) });
  const message = once(port, "message");
  port.postMessage(null, []);
  const [stay] = (await message) as [Stay | null];
  let ends: Ends = { senders: [], readers: [] };
  if (stay === null) {
    await clients.leave();
  } else {
    await clients.sendersEnded(stay.sendersMs);
    await delay(stay.readersMs - clients.ageMs);
    ends = await clients.readToTheEnd(stay.readMs);
  }
  port.postMessage(ends, []);
  port.close();
}

if (!isMainThread && parentPort !== null && isCrowd(workerData)) await run(workerData, parentPort);

function isCrowd(data: unknown): data is Crowd {
  return typeof data === "object" && data !== null && "clients" in data && "body" in data;
}
