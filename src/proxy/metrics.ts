/** Prometheus metrics (text format 0.0.4), served on a port of their own. */
import { createServer, type Server } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
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
    this.#gauge("chipboard_ready", "1 when a snapshot is served.", () =>
      Number(live.current !== null),
    );
    this.#gauge("chipboard_publication", "Number of the publication served.", () =>
      live.current === null ? 0 : live.current.publication.number,
    );
    this.#gauge("chipboard_session_timestamp_seconds", "Session of the snapshot served.", () =>
      live.current === null ? 0 : sessionStartMs(live.current.stamp.head) / 1000,
    );
    this.#gauge("chipboard_overdue_sessions", "Sessions that should have been published.", () =>
      live.current === null
        ? 0
        : overdueSessions(live.current.stamp.head, live.current.stamp.graceMs, now()),
    );
    this.#gauge("chipboard_held_bytes", "Stored size of the files held in memory.", () =>
      live.current === null ? 0 : live.current.heldBytes,
    );
    this.#gauge("chipboard_state_up", "1 when accounts and counts answer.", () =>
      Number(gatekeeper.healthy),
    );
    this.#gauge("chipboard_snapshot_damaged", "1 when the newest publication is damaged.", () =>
      Number(live.trouble?.kind === "damaged"),
    );
    this.#gauge("chipboard_store_up", "1 when the store answers.", () =>
      Number(live.trouble?.kind !== "unreachable"),
    );
    this.#gauge(
      "chipboard_snapshot_loads",
      "Snapshots loaded since the start.",
      () => live.loads.loaded,
    );
    this.#gauge(
      "chipboard_snapshot_load_failures",
      "Loads that failed since the start.",
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

  /** A server that answers /metrics; not yet listening. */
  createServer(): Server {
    return createServer((request, response) => {
      if (request.url !== "/metrics") {
        response.writeHead(404).end();
        return;
      }
      void this.#registry.metrics().then(
        (text) => response.writeHead(200, { "content-type": this.#registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
    });
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

  #gauge(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect: () => gauge.set(read()),
    });
  }
}
