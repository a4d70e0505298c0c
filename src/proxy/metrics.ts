/** What the proxy measures, for Prometheus. Of several workers each metric is put together. */
import { type Aggregator, collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { Gatekeeper } from "../access/access.ts";
import type { Clock } from "../clock.ts";
import { sessionStartMs } from "../market/session.ts";
import { overdueSessions } from "./freshness.ts";
import type { LiveSnapshot } from "./live-snapshot.ts";

export interface ObservedRequest {
  /** The route's path template, never the path sent. */
  readonly route: string;
  readonly status: number;
  readonly tier: string;
  readonly durationMs: number;
}

type RequestLabels = { readonly [L in "route" | "status" | "tier"]: string };

export class ProxyMetrics {
  readonly #registry = new Registry();
  /** Counted here and handed over when asked for: a labelled counter costs a request more. */
  readonly #counts = new Map<
    string,
    { readonly labels: RequestLabels; requests: number; ms: number }
  >();

  constructor(live: LiveSnapshot, gatekeeper: Gatekeeper, clock: Clock) {
    collectDefaultMetrics({ register: this.#registry });
    this.#requestCounter(
      "chipboard_requests_total",
      "Requests answered.",
      ({ requests }) => requests,
    );
    this.#requestCounter(
      "chipboard_request_seconds_total",
      "Time from a request's header to its answer being handed over, summed.",
      ({ ms }) => ms / 1000,
    );
    const now = (): number => clock.now();
    this.#gauge("chipboard_workers", "Processes that answer requests.", "sum", () => 1);
    this.#gauge("chipboard_ready", "1 when a snapshot is served.", "min", () =>
      Number(live.current !== null),
    );
    this.#gauge("chipboard_publication", "Number of the publication served.", "min", () =>
      live.current === null ? 0 : live.current.publication.number,
    );
    this.#gauge(
      "chipboard_session_timestamp_seconds",
      "Session of the snapshot served.",
      "min",
      () => (live.current === null ? 0 : sessionStartMs(live.current.stamp.head) / 1000),
    );
    this.#gauge(
      "chipboard_overdue_sessions",
      "Sessions that should have been published.",
      "max",
      () =>
        live.current === null
          ? 0
          : overdueSessions(live.current.stamp.head, live.current.stamp.graceMs, now()),
    );
    this.#gauge("chipboard_held_bytes", "Stored size of the files held in memory.", "sum", () =>
      live.current === null ? 0 : live.current.heldBytes,
    );
    this.#gauge("chipboard_state_up", "1 when accounts and counts answer.", "min", () =>
      Number(gatekeeper.healthy),
    );
    this.#gauge(
      "chipboard_snapshot_damaged",
      "1 when the newest publication is damaged.",
      "max",
      () => Number(live.trouble?.kind === "damaged"),
    );
    this.#gauge("chipboard_store_up", "1 when the store answers.", "min", () =>
      Number(live.trouble?.kind !== "unreachable"),
    );
    this.#gauge(
      "chipboard_snapshot_loads",
      "Snapshots loaded since the start.",
      "sum",
      () => live.loads.loaded,
    );
    this.#gauge(
      "chipboard_snapshot_load_failures",
      "Loads that failed since the start.",
      "sum",
      () => live.loads.failed,
    );
  }

  observe({ route, status, tier, durationMs }: ObservedRequest): void {
    const key = `${status} ${tier} ${route}`;
    const counted = this.#counts.get(key);
    if (counted === undefined) {
      const labels = { route, status: String(status), tier };
      this.#counts.set(key, { labels, requests: 1, ms: durationMs });
    } else {
      counted.requests += 1;
      counted.ms += durationMs;
    }
  }

  /** In the text format 0.0.4. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** As values, which another process can put together with others'. */
  values(): Promise<object[]> {
    return this.#registry.getMetricsAsJSON();
  }

  #requestCounter(
    name: string,
    help: string,
    read: (counted: { readonly requests: number; readonly ms: number }) => number,
  ): void {
    const counter: Counter<keyof RequestLabels> = new Counter({
      name,
      help,
      labelNames: ["route", "status", "tier"],
      registers: [this.#registry],
      collect: () => {
        counter.reset();
        for (const counted of this.#counts.values()) counter.inc(counted.labels, read(counted));
      },
    });
  }

  /** `aggregator`: how the values of several workers become one. */
  #gauge(name: string, help: string, aggregator: Aggregator, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      aggregator,
      registers: [this.#registry],
      collect: () => gauge.set(read()),
    });
  }
}
