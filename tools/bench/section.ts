/** The result of a bench: its table, the figures for `--json`, and its targets. */
export interface Section {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Lines below the table that explain it. */
  readonly notes: readonly string[];
  readonly targets: readonly Target[];
  readonly figures: Partial<Figures>;
}

export interface Target {
  readonly text: string;
  readonly met: boolean;
  readonly figure: string;
}

/** The figures of `--json`; null for a bench that did not run, or a server that is not installed. */
export interface Figures {
  /** Requests per second, divided by the bare server's. */
  readonly serving: {
    readonly bare: 1;
    readonly chipboard: number;
    readonly fastify: number;
    readonly express: number;
    /** The same program on Bun. */
    readonly bun: number;
    readonly nginx_lua: number | null;
  } | null;
  /** 304 answers per second, divided by the bare server's. */
  readonly not_modified: number | null;
  /** Requests per second for baskets, divided by those for the board. */
  readonly basket: number | null;
  readonly history: number | null;
  /** Requests per second for one contract of the board, divided by those for the board. */
  readonly selection: number | null;
  /** Requests per second with a million keys in the registry, divided by those with one. */
  readonly million_keys: number | null;
  /** Seconds and peak megabytes (2^20 bytes) of a whole publish, by number of contracts. */
  readonly publish: Readonly<Record<string, { seconds: number; rss_mb: number }>> | null;
  /** The proxy's peak under load, in megabytes (2^20 bytes). */
  readonly rss_mb: number | null;
  /** The 99th percentile of latency during a switch, divided by the same percentile of all other answers. */
  readonly switch_p99: number | null;
  /** The 99th percentile of latency at half load behind nginx with TLS, over a switch, in milliseconds. */
  readonly half_load_p99_ms: number | null;
  /** Requests for old publications, by store; a store that is not installed is missing. */
  readonly vintages: Readonly<Record<string, VintageFigures>> | null;
}

/** How a proxy answers requests for old publications beside live calls. */
export interface VintageFigures {
  /** Answers with the status 200 per second. */
  readonly per_second: number;
  /** Answers 503 `busy`, divided by all answers. */
  readonly busy: number;
  /** The 99th percentiles of the live calls' latency in milliseconds: without them, and beside them. */
  readonly live_p99_alone: number;
  readonly live_p99: number;
  /** The proxy's resident memory before them, its peak, and after them, in megabytes (2^20 bytes). */
  readonly rss_mb: { readonly before: number; readonly peak: number; readonly after: number };
}

export const NO_FIGURES: Figures = {
  serving: null,
  not_modified: null,
  basket: null,
  history: null,
  selection: null,
  million_keys: null,
  publish: null,
  rss_mb: null,
  switch_p99: null,
  half_load_p99_ms: null,
  vintages: null,
};

/** The options of all benches. */
export interface BenchOptions {
  readonly rounds: number;
  /** Length of one measurement, after the warm-up. */
  readonly seconds: number;
  /** Length of the load of old publications, which must fill the proxy's cache. */
  readonly vintageSeconds: number;
  /** Sizes of the markets to publish. */
  readonly contracts: readonly number[];
  /** How many years of sessions to publish. */
  readonly years: number;
  /** How many sessions of each half-year to publish by themselves, at its end. */
  readonly singly: number;
  /** The checkout of another version that serves beside this one; null: none. */
  readonly beside: string | null;
  /** An empty folder, removed afterwards. */
  readonly folder: string;
  /** Prints progress. */
  readonly say: (text: string) => void;
}

/** A section as Markdown. */
export function markdown({ title, columns, rows, notes }: Section): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = columns.map((_, at) => (at === 0 ? "---" : "--:"));
  const table = [line(columns), line(rule), ...rows.map(line)].join("\n");
  return [`## ${title}`, table, ...notes].join("\n\n");
}

export const atLeast = (text: string, ratio: number, target: number): Target => ({
  text,
  met: ratio >= target,
  figure: ratio.toFixed(3),
});

export const atMost = (text: string, ratio: number, target: number): Target => ({
  text,
  met: ratio <= target,
  figure: ratio.toFixed(3),
});

/** The figures for growing sizes, as a cell: one figure if all are the same. */
export const grown = (figures: readonly string[]): string =>
  figures.every((figure) => figure === figures[0]) ? (figures[0] ?? "") : figures.join(" → ");

/** The middle value; of an even number of them the upper one of the two. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1];
  if (middle === undefined) throw new Error("A median needs a value");
  return middle;
}

/** The smallest value that at least this share of all does not exceed; NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}
