/** What the proxy measures, for Prometheus. Of several workers each metric is put together. */
import { type Aggregator, Counter, Gauge, Registry } from "prom-client";
import type { Gatekeeper } from "../access/gatekeeper.ts";
import type { Clock } from "../clock.ts";
import { sessionStartMs } from "../market/session.ts";
import { overdueSessions } from "./freshness.ts";
import type { LiveSnapshot } from "./live-snapshot.ts";
import { collectProcessMetrics } from "./process-metrics.ts";

type RequestLabels = { readonly [L in "route" | "status" | "tier"]: string };

interface Counted {
  readonly labels: RequestLabels;
  requests: number;
  ms: number;
}

export class ProxyMetrics {
  readonly #registry = new Registry();
  /** By route, tier and status. Handed over when asked for: a labelled counter costs more. */
  readonly #counts = new Map<string, Map<string, Map<number, Counted>>>();

  constructor(live: LiveSnapshot, gatekeeper: Gatekeeper, clock: Clock) {
    collectProcessMetrics(this.#registry);
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

  /** Notes a request: its route's path template (never the path sent), and how it was answered. */
  observe(route: string, tier: string, status: number, durationMs: number): void {
    const counted = this.#counts.get(route)?.get(tier)?.get(status);
    if (counted === undefined) this.#begin({ route, status: String(status), tier }, durationMs);
    else {
      counted.requests += 1;
      counted.ms += durationMs;
    }
  }

  #begin(labels: RequestLabels, ms: number): void {
    const ofRoute = this.#counts.get(labels.route) ?? new Map<string, Map<number, Counted>>();
    const ofTier = ofRoute.get(labels.tier) ?? new Map<number, Counted>();
    this.#counts.set(labels.route, ofRoute);
    ofRoute.set(labels.tier, ofTier);
    ofTier.set(Number(labels.status), { labels, requests: 1, ms });
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
        for (const ofRoute of this.#counts.values()) {
          for (const ofTier of ofRoute.values()) {
            for (const counted of ofTier.values()) counter.inc(counted.labels, read(counted));
          }
        }
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
