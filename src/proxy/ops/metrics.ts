/** The proxy's metrics for Prometheus. */
import { Counter, Registry } from "prom-client";
import type { Gatekeeper } from "../../state/gatekeeper.ts";
import type { Clock } from "../../lib/clock.ts";
import { sessionStartMs } from "../../market/session.ts";
import { overdueSessions } from "../snapshot/freshness.ts";
import type { LiveSnapshot } from "../snapshot/live.ts";
import type { Logger } from "./log.ts";
import { collectProcessMetrics, counterIn, gaugeIn } from "./process-metrics.ts";

type RequestLabels = { readonly [L in "route" | "status" | "tier"]: string };

interface Counted {
  readonly labels: RequestLabels;
  requests: number;
  ms: number;
}

/** The metrics of one process. */
export class ProxyMetrics {
  readonly #registry = new Registry();
  /** By route, tier and status. Plain numbers cost less than prom-client's labelled counters. */
  readonly #counts = new Map<string, Map<string, Map<number, Counted>>>();

  /** Connections closed at once because too many were open. */
  connectionsRefused = 0;

  constructor(live: LiveSnapshot, gatekeeper: Gatekeeper, clock: Clock, log: Logger) {
    collectProcessMetrics(this.#registry);
    const gauge = gaugeIn(this.#registry);
    const counter = counterIn(this.#registry);
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
    counter(
      "chipboard_connections_refused_total",
      "Connections closed at once because too many were open.",
      () => this.connectionsRefused,
    );
    counter(
      "chipboard_log_lines_dropped_total",
      "Lines of the log that could not be written.",
      () => log.droppedLines,
    );
    gauge("chipboard_ready", "1 when a snapshot is served.", () => Number(live.current !== null));
    gauge("chipboard_publication", "Number of the publication served.", () =>
      live.current === null ? 0 : live.current.publication.number,
    );
    gauge("chipboard_session_timestamp_seconds", "Session of the snapshot served.", () =>
      live.current === null ? 0 : sessionStartMs(live.current.stamp.head) / 1000,
    );
    gauge("chipboard_overdue_sessions", "Sessions that should have been published.", () =>
      live.current === null ? 0 : overdueSessions(live.current.stamp, clock.now()),
    );
    gauge("chipboard_held_bytes", "Stored size of the files held in memory.", () =>
      live.current === null ? 0 : live.current.heldBytes,
    );
    gauge("chipboard_state_up", "1 when accounts and counts answer.", () =>
      Number(gatekeeper.trouble === null),
    );
    gauge("chipboard_snapshot_damaged", "1 when the newest publication is damaged.", () =>
      Number(live.trouble?.kind === "damaged"),
    );
    gauge("chipboard_store_up", "1 when the store answers.", () =>
      Number(live.trouble?.kind !== "unreachable"),
    );
    gauge("chipboard_snapshot_loads", "Snapshots loaded since the start.", () => live.loads.loaded);
    gauge(
      "chipboard_snapshot_load_failures",
      "Loads that failed since the start.",
      () => live.loads.failed,
    );
  }

  /** Counts a request. `route` is the route's path template, never the path sent. */
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

  /** The metrics in text format 0.0.4. */
  text(): Promise<string> {
    return this.#registry.metrics();
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
}
