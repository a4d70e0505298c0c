/**
 * A crowd of slow clients in a thread of its own, so that the thousands of single bytes they send
 * and read take no time from the ordinary callers beside whom they are.
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

/** How long a crowd stays at most, since it came. */
export interface Stay {
  /** For senders to be let go of. */
  readonly sendersMs: number;
  /** Until readers take all there is for them. */
  readonly readersMs: number;
  /** For that. */
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

  /** Resolves when all of the crowd are connected. */
  static async open(crowd: Crowd): Promise<CrowdThread> {
    const worker = new Worker(new URL(import.meta.url), { workerData: crowd });
    await once(worker, "message");
    return new CrowdThread(worker);
  }

  /** All leave at once. */
  async leave(): Promise<void> {
    await this.#told(null);
  }

  /** They stay until the proxy has had enough of them, and then leave. */
  stay(how: Stay): Promise<Ends> {
    return this.#told(how);
  }

  async #told(stay: Stay | null): Promise<Ends> {
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
  const told = once(port, "message");
  port.postMessage(null, []);
  const [stay] = (await told) as [Stay | null];
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
