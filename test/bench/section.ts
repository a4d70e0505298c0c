/** What a bench hands in: its table, the figures for machines, and the targets it was held to. */
export interface Section {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Lines below the table: what was compared, and what the figures do not say by themselves. */
  readonly notes: readonly string[];
  readonly targets: readonly Target[];
  readonly figures: Partial<Figures>;
}

export interface Target {
  readonly text: string;
  readonly met: boolean;
  readonly figure: string;
}

/** The figures of `--json`; null for what was not run, or not there to compare with. */
export interface Figures {
  /** Requests a second, as ratios to the bare server's. */
  readonly serving: {
    readonly bare: 1;
    readonly chipboard: number;
    readonly fastify: number;
    readonly express: number;
    /** The same program on Bun. */
    readonly bun: number;
    readonly nginx_lua: number | null;
  } | null;
  /** 304 answers, as a ratio to the bare server's. */
  readonly not_modified: number | null;
  /** A basket's requests a second, as a ratio to the board's. */
  readonly basket: number | null;
  readonly history: number | null;
  /** One key in a registry of a million, as a ratio to one in a registry of one. */
  readonly million_keys: number | null;
  /** By number of contracts: seconds and peak megabytes (2^20 bytes) of a whole publish. */
  readonly publish: Readonly<Record<string, { seconds: number; rss_mb: number }>> | null;
  /** The proxy's peak under load, in megabytes (2^20 bytes). */
  readonly rss_mb: number | null;
  /** The 99th percentile of latency during a switch, as a ratio to that of all other answers. */
  readonly switch_p99: number | null;
}

export const NO_FIGURES: Figures = {
  serving: null,
  not_modified: null,
  basket: null,
  history: null,
  million_keys: null,
  publish: null,
  rss_mb: null,
  switch_p99: null,
};

/** What all benches are run with. */
export interface BenchOptions {
  readonly rounds: number;
  /** Of one measurement, after the warm-up. */
  readonly seconds: number;
  /** Sizes of the markets to publish. */
  readonly contracts: readonly number[];
  /** An empty folder, removed afterwards. */
  readonly folder: string;
  /** Tells how far the bench is. */
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

/** The middle value; of an even number of them the upper one of the two. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b)[values.length >> 1];
  if (middle === undefined) throw new Error("A median needs a value");
  return middle;
}
