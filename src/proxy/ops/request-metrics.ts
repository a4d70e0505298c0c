/**
 * Counts and durations of the requests answered. A request costs a few additions: plain numbers are
 * much cheaper than prom-client's labelled metrics. A scrape makes Prometheus' text of them.
 */
import { Counter, type Registry } from "prom-client";

interface Counted {
  readonly labels: { readonly [L in "route" | "status" | "tier"]: string };
  /** Requests by the bucket of their duration; the last bucket has no upper bound. */
  readonly buckets: number[];
  ms: number;
}

/** Upper bounds of the buckets. A processor that is not busy needs less than the first. */
const BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

const HISTOGRAM = "chipboard_request_duration_seconds";

/** The requests of one process. */
export class RequestMetrics {
  /** By route, tier and status. */
  readonly #counts = new Map<string, Map<string, Map<number, Counted>>>();

  constructor(registry: Registry) {
    const requests: Counter = new Counter({
      name: "chipboard_requests_total",
      help: "Requests answered.",
      labelNames: ["route", "status", "tier"],
      registers: [registry],
      collect: () => {
        requests.reset();
        for (const { labels, buckets } of this.#all()) requests.inc({ ...labels }, sum(buckets));
      },
    });
  }

  /** Counts a request. `route` is the route's path template, never the path sent. */
  observe(route: string, tier: string, status: number, durationMs: number): void {
    const counted =
      this.#counts.get(route)?.get(tier)?.get(status) ?? this.#begin(route, tier, status);
    let bucket = 0;
    while (durationMs > (BOUNDS_MS[bucket] ?? Infinity)) bucket += 1;
    counted.buckets[bucket] = (counted.buckets[bucket] ?? 0) + 1;
    counted.ms += durationMs;
  }

  /** The histogram of durations in text format 0.0.4; prom-client takes only single values. */
  histogramText(): string {
    const series = new Map<string, Pick<Counted, "buckets" | "ms">>();
    for (const { labels, buckets, ms } of this.#all()) {
      const name = `route="${labels.route}",status_class="${labels.status[0]}xx"`;
      const before = series.get(name);
      series.set(name, {
        buckets: buckets.map((requests, at) => requests + (before?.buckets[at] ?? 0)),
        ms: ms + (before?.ms ?? 0),
      });
    }
    const lines = [
      `# HELP ${HISTOGRAM} From the end of a request's header until its answer is handed over.`,
      `# TYPE ${HISTOGRAM} histogram`,
    ];
    for (const [labels, { buckets, ms }] of series) {
      let requests = 0;
      for (const [at, more] of buckets.entries()) {
        requests += more;
        const bound = at < BOUNDS_MS.length ? (BOUNDS_MS[at] as number) / 1_000 : "+Inf";
        lines.push(`${HISTOGRAM}_bucket{${labels},le="${bound}"} ${requests}`);
      }
      lines.push(`${HISTOGRAM}_sum{${labels}} ${ms / 1_000}`);
      lines.push(`${HISTOGRAM}_count{${labels}} ${requests}`);
    }
    return `${lines.join("\n")}\n`;
  }

  #begin(route: string, tier: string, status: number): Counted {
    const ofRoute = this.#counts.get(route) ?? new Map<string, Map<number, Counted>>();
    const ofTier = ofRoute.get(tier) ?? new Map<number, Counted>();
    this.#counts.set(route, ofRoute);
    ofRoute.set(tier, ofTier);
    const labels = { route, status: String(status), tier };
    const counted = {
      labels,
      buckets: Array.from({ length: BOUNDS_MS.length + 1 }, () => 0),
      ms: 0,
    };
    ofTier.set(status, counted);
    return counted;
  }

  *#all(): Generator<Counted> {
    for (const ofRoute of this.#counts.values()) {
      for (const ofTier of ofRoute.values()) yield* ofTier.values();
    }
  }
}

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((all, number) => all + number, 0);
