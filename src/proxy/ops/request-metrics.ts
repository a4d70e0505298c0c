/** Counts and durations of the requests answered. */
import { Counter, Histogram, type Registry } from "prom-client";

/** Upper bounds of the buckets. A processor that is not busy needs less than the first. */
const BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The requests of one process. */
export class RequestMetrics {
  readonly #requests: Counter;
  readonly #durations: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: "chipboard_requests_total",
      help: "Requests answered.",
      labelNames: ["route", "status", "tier"],
      registers,
    });
    this.#durations = new Histogram({
      name: "chipboard_request_duration_seconds",
      help: "From the end of a request's header until its answer is handed over.",
      labelNames: ["route", "status_class"],
      buckets: BOUNDS_SECONDS,
      registers,
    });
  }

  /** Counts a request. `route` is the route's path template, never the path sent. */
  observe(route: string, tier: string, status: number, durationMs: number): void {
    const text = String(status);
    this.#requests.inc({ route, status: text, tier });
    this.#durations.observe({ route, status_class: `${text[0]}xx` }, durationMs / 1_000);
  }
}
