/** The proxy's metrics for Prometheus. */
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Registry } from "@prometheus-io/client";
import { PROGRAM } from "../../lib/version.ts";
import { feedFigures, type FeedFacts } from "../../market/feed-figures.ts";

interface Served extends FeedFacts {
  readonly stamp: {
    readonly publication: number;
    readonly headMs: number;
    readonly publishedAtMs: number;
  };
  readonly judgements: readonly { readonly gate: string }[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly heldBytes: number;
}

/** What each scrape reads. */
export interface Observed {
  readonly live: {
    readonly current: Served | null;
    readonly trouble: { readonly kind: "damaged" | "unreachable" | "lost" } | null;
    readonly loads: { readonly loaded: number; readonly failed: number };
  };
  readonly archive: { readonly heldBytes: number };
  readonly turns: { readonly refusals: number; readonly heldBytes: number };
  readonly backlog: { readonly bytes: number; readonly closed: number };
  readonly accounts: {
    readonly trouble: string | null;
    readonly refusal: string | null;
    readonly evictionPolicy: string | null;
    readonly size: number;
  };
  readonly log: { readonly droppedLines: number };
  /** How late, and how early, the clock says that the snapshot served is; 0 without one. */
  readonly overdueSessions: () => number;
  readonly behindMs: () => number;
  readonly nowMs: () => number;
  /** When the certificate in use ends (epoch); 0: there is none. */
  readonly certificateEndMs: () => number;
}

/** Each metric that is read on each scrape, and its help text. A counter's name ends in `_total`. */
const HELP = {
  process_cpu_seconds_total: "Processor time used, user and system.",
  process_start_time_seconds: "Start, as epoch seconds.",
  process_resident_memory_bytes: "Resident memory.",
  process_open_fds: "Open file descriptors.",
  nodejs_heap_size_used_bytes: "Memory of JavaScript objects in use.",
  nodejs_eventloop_lag_p99_seconds: "99th percentile since last asked.",
  chipboard_connections_refused_total:
    "Connections closed at once because too many were open, in all or from one address.",
  chipboard_slow_readers_closed_total:
    "Connections closed because too many bytes waited for readers.",
  chipboard_waiting_bytes:
    "Bytes in memory that wait for readers: pieces of shared bodies, and whole bodies that were made for one request.",
  chipboard_log_lines_dropped_total: "Lines of the log that could not be written.",
  chipboard_ready: "1 when a snapshot is served.",
  chipboard_publication: "Number of the publication served.",
  chipboard_session_timestamp_seconds: "Session of the snapshot served.",
  chipboard_publication_timestamp_seconds:
    "When the publication served was published or rolled back to.",
  chipboard_unchanged_sessions:
    "Sessions for which no level of the served publication has moved; 0: a level has moved.",
  chipboard_still_contracts:
    "Contracts of the served publication that are priced at least daily and have not moved for --notice-still sessions.",
  chipboard_carried_contracts:
    "Contracts of the publication served without a level for its session.",
  chipboard_overdue_sessions: "Sessions that should have been published.",
  chipboard_closed_day: "1 when the served publication is of a closed day (--closed, --holidays).",
  chipboard_clock_behind_seconds: "Seconds by which the clock is before that session.",
  chipboard_time_seconds: "The clock, as epoch seconds.",
  chipboard_certificate_end_timestamp_seconds: "When the certificate in use ends; 0 without TLS.",
  chipboard_held_bytes: "Stored size of the files held in memory.",
  chipboard_archive_bytes: "Memory of the old snapshots that are kept.",
  chipboard_archive_busy_total:
    "Requests refused because their caller had too many expensive ones in progress.",
  chipboard_state_up: "1 when accounts and counts answer.",
  chipboard_state_readonly:
    "1 when the state answers reads and takes no writes; calls are counted in memory until it does.",
  chipboard_state_evicts: "1 when the Redis of the state may drop accounts, keys and counts.",
  chipboard_accounts: "Accounts in the state.",
  chipboard_snapshot_damaged: "1 when the newest publication is damaged.",
  chipboard_store_up: "1 when the store answers.",
  chipboard_store_lost: "1 when the store is not the one that the state remembers.",
  chipboard_snapshot_loads_total: "Snapshots loaded.",
  chipboard_snapshot_load_failures_total: "Loads of a snapshot that failed.",
} as const;

/** Reads a metric's value; a counter's never becomes smaller. Null: this machine does not have it. */
type Reads<Name extends string> = { readonly [N in Name]: (() => number) | null };
type ProcessMetric = Extract<keyof typeof HELP, `process_${string}` | `nodejs_${string}`>;

export class ProxyMetrics {
  readonly #registry = new Registry();
  readonly requests = new RequestMetrics(this.#registry);

  /** Connections closed at once because too many were open. */
  connectionsRefused = 0;

  constructor(observed: Observed) {
    const { live, archive, turns, backlog, accounts, log } = observed;
    const ofServed = (read: (served: Served) => number) => () =>
      live.current === null ? 0 : read(live.current);
    const ofFeed = (name: keyof ReturnType<typeof feedFigures>) =>
      ofServed((served) => feedFigures(served, served.stamp.headMs)[name]);
    const reads: Reads<keyof typeof HELP> = {
      ...processReads(),
      chipboard_connections_refused_total: () => this.connectionsRefused,
      chipboard_slow_readers_closed_total: () => backlog.closed,
      chipboard_waiting_bytes: () => backlog.bytes + turns.heldBytes,
      chipboard_log_lines_dropped_total: () => log.droppedLines,
      chipboard_ready: () => Number(live.current !== null),
      chipboard_publication: ofServed(({ stamp }) => stamp.publication),
      chipboard_session_timestamp_seconds: ofServed(({ stamp }) => stamp.headMs / 1000),
      chipboard_publication_timestamp_seconds: ofServed(({ stamp }) => stamp.publishedAtMs / 1000),
      chipboard_unchanged_sessions: ofFeed("unchangedSessions"),
      chipboard_still_contracts: ofFeed("stillContracts"),
      chipboard_carried_contracts: ofFeed("carriedContracts"),
      chipboard_overdue_sessions: observed.overdueSessions,
      chipboard_closed_day: ofServed(({ options }) => Number(options["closed_day"] === true)),
      chipboard_clock_behind_seconds: () => observed.behindMs() / 1000,
      chipboard_time_seconds: () => observed.nowMs() / 1000,
      chipboard_certificate_end_timestamp_seconds: () => observed.certificateEndMs() / 1000,
      chipboard_held_bytes: ofServed(({ heldBytes }) => heldBytes),
      chipboard_archive_bytes: () => archive.heldBytes,
      chipboard_archive_busy_total: () => turns.refusals,
      chipboard_state_up: () => Number(accounts.trouble === null),
      chipboard_state_readonly: () => Number(accounts.refusal !== null),
      chipboard_state_evicts: () => Number(accounts.evictionPolicy !== null),
      chipboard_accounts: () => accounts.size,
      chipboard_snapshot_damaged: () => Number(live.trouble?.kind === "damaged"),
      chipboard_store_up: () => Number(live.trouble?.kind !== "unreachable"),
      chipboard_store_lost: () => Number(live.trouble?.kind === "lost"),
      chipboard_snapshot_loads_total: () => live.loads.loaded,
      chipboard_snapshot_load_failures_total: () => live.loads.failed,
    };
    const registers = [this.#registry];
    for (const [name, help] of Object.entries(HELP)) {
      const read = reads[name as keyof typeof HELP];
      if (read === null) continue;
      const Metric = name.endsWith("_total") ? Counter : Gauge;
      const collect = (): void => {
        metric.reset();
        metric.inc(read());
      };
      const metric: Gauge | Counter = new Metric({ name, help, registers, collect });
    }
    new Gauge({
      name: "chipboard_build_info",
      help: "1, with the program's version.",
      labelNames: ["version"],
      registers,
    }).set({ version: PROGRAM.version }, 1);
    const judgements: Gauge<"gate"> = new Gauge({
      name: "chipboard_judgements",
      help: "Findings that the served publication accepted, and rows that it left out or rounded.",
      labelNames: ["gate"],
      registers,
      collect: () => {
        judgements.reset();
        for (const { gate } of live.current?.judgements ?? []) judgements.inc({ gate });
      },
    });
  }

  /** The metrics in text format 0.0.4. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.requests.histogram()}`;
  }
}

/** Upper bounds of the buckets. A processor that is not busy needs less than the first. */
const BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Answers of a route by status and tier, and their durations by class of status. */
interface OfRoute {
  readonly counts: Map<string, { readonly status: string; readonly tier: string; count: number }>;
  /** By the first digit of the status. */
  readonly durations: Map<number, { readonly buckets: number[]; seconds: number; count: number }>;
}

/** Plain numbers, which a scrape renders: to find a metric by its labels costs as much as a tenth of an answer. */
export class RequestMetrics {
  readonly #routes = new Map<string, OfRoute>();

  constructor(registry: Registry) {
    const counter: Counter<"route" | "status" | "tier"> = new Counter({
      name: "chipboard_requests_total",
      help: "Requests answered.",
      labelNames: ["route", "status", "tier"],
      registers: [registry],
      collect: () => {
        counter.reset();
        for (const [route, { counts }] of this.#routes) {
          for (const { status, tier, count } of counts.values()) {
            counter.inc({ route, status, tier }, count);
          }
        }
      },
    });
  }

  /** Counts a request. `route` is the route's path template, never the path sent. */
  observe(route: string, tier: string, status: number, durationMs: number): void {
    let ofRoute = this.#routes.get(route);
    if (ofRoute === undefined) {
      ofRoute = { counts: new Map(), durations: new Map() };
      this.#routes.set(route, ofRoute);
    }
    const name = `${status} ${tier}`;
    let counted = ofRoute.counts.get(name);
    if (counted === undefined) {
      counted = { status: String(status), tier, count: 0 };
      ofRoute.counts.set(name, counted);
    }
    counted.count += 1;
    const digit = Math.floor(status / 100);
    let took = ofRoute.durations.get(digit);
    if (took === undefined) {
      took = { buckets: BOUNDS_SECONDS.map(() => 0), seconds: 0, count: 0 };
      ofRoute.durations.set(digit, took);
    }
    const seconds = durationMs / 1_000;
    took.seconds += seconds;
    took.count += 1;
    let at = 0;
    while (at < BOUNDS_SECONDS.length && seconds > (BOUNDS_SECONDS[at] as number)) at += 1;
    if (at < BOUNDS_SECONDS.length) took.buckets[at] = (took.buckets[at] as number) + 1;
  }

  /** The durations as a histogram (Prometheus, text format 0.0.4). */
  histogram(): string {
    const name = "chipboard_request_duration_seconds";
    const lines = [
      `# HELP ${name} From the end of a request's header until its answer is handed over.`,
      `# TYPE ${name} histogram`,
    ];
    for (const [route, { durations }] of this.#routes) {
      for (const [digit, { buckets, seconds, count }] of durations) {
        const labels = `route="${route}",status_class="${digit}xx"`;
        let sum = 0;
        for (const [at, bound] of BOUNDS_SECONDS.entries()) {
          sum += buckets[at] as number;
          lines.push(`${name}_bucket{le="${bound}",${labels}} ${sum}`);
        }
        lines.push(`${name}_bucket{le="+Inf",${labels}} ${count}`);
        lines.push(`${name}_sum{${labels}} ${seconds}`, `${name}_count{${labels}} ${count}`);
      }
    }
    return `${lines.join("\n")}\n`;
  }
}

const LAG_RESOLUTION_MS = 20;

/**
 * Metrics of the process under their usual names (Prometheus, "Writing client libraries"; those with
 * nodejs_ as in `@prometheus-io/client`). The client's own default metrics are not used: they observe
 * every garbage collection, which costs a busy proxy a tenth of its throughput.
 */
function processReads(): Reads<ProcessMetric> {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  const isLinux = process.platform === "linux";
  return {
    process_cpu_seconds_total: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    process_start_time_seconds: () => performance.timeOrigin / 1000,
    process_resident_memory_bytes: () => process.memoryUsage.rss(),
    process_open_fds: isLinux ? () => readdirSync("/proc/self/fd").length : null,
    nodejs_heap_size_used_bytes: () => process.memoryUsage().heapUsed,
    nodejs_eventloop_lag_p99_seconds: () => {
      const seconds = lag.percentile(99) / 1e9;
      lag.reset();
      return seconds;
    },
  };
}
