/** Small inputs, and `publish` in this process: its messages, and the files that it writes. */
import { ChipboardError } from "../../src/lib/errors.ts";
import type { GateOptions } from "../../src/feed/gates.ts";
import type { InputSource } from "../../src/feed/source.ts";
import type { RestatementOrder } from "../../src/market/published-series.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import { publish } from "../store/begun.ts";
import { publishMoves } from "../store/publish-moves.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { USUAL_REQUEST, type PublishRequest } from "../../src/publish/request.ts";
import { readHead } from "../store/log-entries.ts";
import { plainBytes } from "../store/stored-file.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText, STORE_MARK } from "../../src/store/paths.ts";

export const at = (key: string): Session => parseSession(key) as Session;
export const SESSION = at("2026-11-21T00Z");

export const CATALOG_COLUMNS =
  "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb,max_carry_days,free," +
  "price_type,delisted_on,formerly,cadence_days,max_move_pct";

export interface CatalogRow {
  readonly id: string;
  readonly name?: string;
  readonly board?: string;
  readonly segment?: string;
  readonly unit?: string;
  readonly capacity_gb?: string;
  readonly max_carry_days?: string;
  readonly free?: string;
  readonly price_type?: string;
  readonly delisted_on?: string;
  readonly formerly?: string;
  readonly cadence_days?: string;
  readonly max_move_pct?: string;
}

/** A catalog in CSV; a row that is only an id gets plain values. */
export function catalogOf(rows: readonly (string | CatalogRow)[]): string {
  const lines = rows.map((item) => {
    const row = typeof item === "string" ? { id: item } : item;
    const { id, name = `Contract ${id}`, board = "memory", unit = "USD per piece" } = row;
    const { segment = "DRAM", capacity_gb = "", max_carry_days = "", free = "" } = row;
    const start = `${id},${id.toUpperCase()},${name},${board},${segment},${unit},40,InputSource`;
    const { price_type = "", delisted_on = "", formerly = "" } = row;
    const { cadence_days = "", max_move_pct = "" } = row;
    return (
      `${start},https://s.example/${id},${capacity_gb},${max_carry_days},${free},` +
      `${price_type},${delisted_on},${formerly},${cadence_days},${max_move_pct}`
    );
  });
  return [CATALOG_COLUMNS, ...lines, ""].join("\n");
}

/** `id,spot_usd` for the session being published. */
export const quotesOf = (levels: Readonly<Record<string, number | string>>): string =>
  `id,spot_usd\n${Object.entries(levels)
    .map(([id, usd]) => `${id},${usd}\n`)
    .join("")}`;

export const lines = (...texts: readonly string[]): string => `${texts.join("\n")}\n`;

export interface Run
  extends
    Partial<GateOptions>,
    Partial<
      Pick<
        PublishRequest,
        | "hold"
        | "holdInvalid"
        | "ignoreUnknown"
        | "round"
        | "keys"
        | "by"
        | "why"
        | "noticeStillSessions"
      >
    > {
  readonly session?: string;
  readonly catalog?: string;
  /** One text for each file: quotes.csv, quotes-2.csv, … */
  readonly quotes?: string | readonly string[];
  readonly closes?: string | readonly string[];
  /** What the file of --map holds. */
  readonly map?: object;
  readonly attribution?: string;
  readonly revise?: string;
  /** A reason alone restates all that can be restated, with the members of then. */
  readonly restateSeries?: string | RestatementOrder;
  readonly dryRun?: boolean;
  /** What the publisher's clock shows (epoch milliseconds). */
  readonly nowMs?: number;
}

/** The result of a publish: the exit code, and all lines of the error message. */
export interface Ended {
  readonly code: number;
  readonly said: readonly string[];
  readonly result: PublishResult | null;
}

/**
 * Publishes in this process. `acceptMoves` also accepts the moves of indices and board. Unless the run says otherwise, the clock is in the session (or in SESSION,
 * if that is later).
 */
export async function tryPublish(
  store: ObjectStore,
  run: Run,
  publishing = run.acceptMoves ? publishMoves : publish,
): Promise<Ended> {
  const session = at(run.session ?? "2026-11-21T00Z");
  try {
    const result = await publishing(
      {
        catalog: run.catalog === undefined ? null : sourceOf("catalog", run.catalog),
        quotes: sourcesOf("quotes", run.quotes),
        closes: sourcesOf("closes", run.closes),
        map: run.map === undefined ? null : sourceOf("map", JSON.stringify(run.map)),
        session,
        attribution: run.attribution ?? null,
        revise: run.revise ?? null,
        restateSeries:
          typeof run.restateSeries === "string"
            ? { reason: run.restateSeries, from: null, members: false }
            : (run.restateSeries ?? null),
        dryRun: run.dryRun ?? false,
        by: run.by ?? null,
        why: run.why ?? null,
        ...(run.keys === undefined ? {} : { keys: run.keys }),
        hold: run.hold ?? [],
        holdInvalid: run.holdInvalid ?? false,
        ignoreUnknown: run.ignoreUnknown ?? false,
        round: run.round ?? false,
        noticeStillSessions: run.noticeStillSessions ?? USUAL_REQUEST.noticeStillSessions,
        waitMs: 0,
        gates: {
          maxMoveMicros: run.maxMoveMicros ?? 50_000_000,
          maxIndexMoveMicros: run.maxIndexMoveMicros ?? 25_000_000,
          maxBoardMoveMicros: run.maxBoardMoveMicros ?? 15_000_000,
          minCoverageMicros: run.minCoverageMicros ?? 80_000_000,
          maxUnchangedSessions: run.maxUnchangedSessions ?? 8,
          maxGapSessions: run.maxGapSessions ?? 14,
          maxCarryDays: run.maxCarryDays ?? 45,
          acceptMoves: run.acceptMoves ?? false,
          allowSparse: run.allowSparse ?? false,
          accept: run.accept ?? [],
          isClosedDay: run.isClosedDay ?? false,
        },
      },
      store,
      { now: () => run.nowMs ?? sessionStartMs(Math.max(session, SESSION)) + 300_000 },
      () => {},
    );
    return { code: 0, said: [], result };
  } catch (error) {
    if (!(error instanceof ChipboardError)) throw error;
    return { code: error.exitCode, said: [error.message, ...error.details], result: null };
  }
}

/** Publishes, whatever the gates on indices and the board refuse, and returns the snapshot's name. Throws if the exit code is not 0. */
export async function mustPublish(store: ObjectStore, run: Run): Promise<string> {
  const { result, said } = await tryPublish(store, run, publishMoves);
  if (result === null) throw new Error(said.join("\n"));
  return snapshotText(result.snapshot);
}

/** Every key of the store but its mark with its bytes as text, to compare before and after. */
export async function contentOf(store: ObjectStore): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for await (const { key } of store.list("")) {
    if (key === STORE_MARK) continue;
    content[key] = (await store.get(key))?.toString("latin1") ?? "";
  }
  return content;
}

/** A JSON file of the head's snapshot. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests check the fields that they read
export async function headJson(store: ObjectStore, path: string): Promise<any> {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  return JSON.parse(String(await plainBytes(store, `sessions/${snapshotText(head)}/${path}`)));
}

const sourcesOf = (kind: string, texts: string | readonly string[] = []): InputSource[] =>
  (typeof texts === "string" ? [texts] : texts).map((text, index) =>
    sourceOf(index === 0 ? kind : `${kind}-${index + 1}`, text),
  );

/** The name of the file, with `.json` or `.ndjson` if its content looks like that. */
function sourceOf(stem: string, text: string): InputSource {
  const format = text.startsWith("[") ? "json" : text.startsWith("{") ? "ndjson" : "csv";
  return {
    name: `${stem}.${format}`,
    format,
    open: async function* () {
      yield Buffer.from(text);
    },
  };
}
