/**
 * The metrics of several workers as those of one proxy: each metric is put together the way it says
 * itself (most are summed). What a worker had counted when it died stays counted, so that sums do
 * not fall.
 *
 *   primary → worker   {"chipboard":"measure","id":3}
 *   worker → primary   {"chipboard":"measured","id":3,"metrics":[…]}
 */
import { AggregatorRegistry } from "prom-client";
import { isOurs, tell, type Channel } from "../access/channel.ts";

/** A worker that does not answer in time is told of as it was when it last did. */
const ANSWER_MS = 2_000;

/** What a registry's `getMetricsAsJSON` gives, as far as it is looked at here. */
type Metrics = readonly { readonly type: unknown }[];

type Message =
  | { readonly chipboard: "measure"; readonly id: number }
  | { readonly chipboard: "measured"; readonly id: number; readonly metrics: Metrics };

/** In the primary: the workers' metrics, together. */
export class WorkerMetrics {
  readonly #last = new Map<Channel, Metrics>();
  readonly #asked = new Map<number, () => void>();
  #departed: Metrics = [];
  #lastId = 0;

  /** Takes a worker's metrics in from now on, until its channel is gone. */
  add(worker: Channel): void {
    this.#last.set(worker, []);
    worker.on("message", (message) => {
      if (!isMessage(message) || message.chipboard !== "measured") return;
      if (this.#last.has(worker)) this.#last.set(worker, message.metrics);
      this.#asked.get(message.id)?.();
    });
    worker.on("disconnect", () => {
      const counters = this.#last.get(worker)?.filter(({ type }) => type === "counter") ?? [];
      this.#last.delete(worker);
      this.#departed = [...this.#departed, ...counters];
    });
  }

  /** The text for Prometheus. */
  async text(): Promise<string> {
    await Promise.all([...this.#last.keys()].map((worker) => this.#measure(worker)));
    return AggregatorRegistry.aggregate([...this.#last.values(), this.#departed]).metrics();
  }

  #measure(worker: Channel): Promise<void> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#asked.delete(id);
        worker.off("disconnect", done);
        resolve();
      };
      const timer = setTimeout(done, ANSWER_MS);
      this.#asked.set(id, done);
      worker.on("disconnect", done);
      const question: Message = { chipboard: "measure", id };
      tell(worker, question);
    });
  }
}

/** In a worker: answers the primary with what `read` gives. */
export function answerMeasure(primary: Channel, read: () => Promise<object[]>): void {
  primary.on("message", (message) => {
    if (!isMessage(message) || message.chipboard !== "measure") return;
    const { id } = message;
    void read().then((metrics) => tell(primary, { chipboard: "measured", id, metrics }));
  });
}

const isMessage = (message: unknown): message is Message => isOurs(message);
