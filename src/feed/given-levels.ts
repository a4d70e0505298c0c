/**
 * The levels that a run's input names for one contract, in columns: twenty million rows of an input
 * of five years must fit. Collected in the order they are read, they are then settled in the order
 * of their sessions, for good.
 */
import type { Micros } from "../market/decimal.ts";
import type { Basis } from "../market/level-series.ts";
import type { Day, Session } from "../market/session.ts";
import type { Where } from "./table.ts";

/** What most rows leave out. A field that is not there was not named. */
export interface GivenExtras {
  readonly basis?: Basis;
  readonly asOf?: Day;
  readonly source?: string;
  readonly sourceUrl?: string;
  readonly breakReason?: string;
}

/** Names nothing. One object for all such rows, so that they can be told by identity. */
export const NO_EXTRAS: GivenExtras = {};

/** The kinds of input that give levels, in the order that they are reported in. */
export const GIVEN_KINDS = ["quotes", "closes"] as const;
/** One of GIVEN_KINDS. */
export type GivenKind = (typeof GIVEN_KINDS)[number];

/** A file of the input. `where` names a row of it, by its position, in messages. */
export interface Origin {
  readonly kind: GivenKind;
  readonly where: Where;
}

/** One named level; `usd` null takes a level back. */
export interface GivenLevel {
  readonly session: Session;
  readonly usd: Micros | null;
  readonly extras: GivenExtras;
  /** Its place among the contract's. */
  readonly place: number;
}

/** Stands in the column of levels where one is taken back: no level is 0. */
export const WITHDRAWN = 0;

/** Places, from one up to another that is no more among them. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** Rows of one origin that follow each other, up to where the next run begins. */
export interface RowRun {
  /** The place of the first. */
  readonly from: number;
  readonly origin: Origin;
  /** Where they stand evenly in their file, as they mostly do: the first one, and how far apart. */
  readonly even: { readonly first: number; readonly step: number } | null;
}

/** The run that a row belongs to. */
export const runOf = <R extends RowRun>(runs: readonly R[], row: number): R =>
  runs.findLast(({ from }) => from <= row) as R;

/** Where a row of the run stands in its file; `positions` are those of rows in uneven runs. */
export const positionIn = (
  { from, even }: RowRun,
  positions: Int32Array | null,
  row: number,
): number => (even === null ? (positions?.[row] as number) : even.first + even.step * (row - from));

/** Sorted by session; of one session, in the order they were read. */
export class GivenLevels {
  /** Ascending; one may stand several times. */
  readonly sessions: Int32Array;
  /** In micro-dollars; 0 takes a level back. */
  readonly usd: Float64Array;
  /** What else rows name, by their places, in no order. */
  readonly extras: ReadonlyMap<number, GivenExtras>;
  /** Whether each row gives a level, and each to a session of its own. */
  readonly areSeries: boolean;
  /** Of rows in uneven runs; null where there are none. */
  readonly #positions: Int32Array | null;
  readonly #runs: readonly RowRun[];

  constructor(
    columns: { sessions: Int32Array; usd: Float64Array; positions: Int32Array | null },
    extras: ReadonlyMap<number, GivenExtras>,
    runs: readonly RowRun[],
  ) {
    const { sessions, usd, positions } = columns;
    this.sessions = sessions;
    this.usd = usd;
    this.#positions = positions;
    this.extras = extras;
    this.#runs = runs;
    this.areSeries = ascends(sessions, 1) && !usd.includes(WITHDRAWN);
  }

  /** How many rows there are. */
  get length(): number {
    return this.sessions.length;
  }

  /** Every place. */
  get all(): Stretch {
    return { from: 0, to: this.length };
  }

  /** The row at a place from 0 to length − 1. */
  at(place: number): GivenLevel {
    const usd = this.usd[place] as number;
    return {
      session: this.sessions[place] as number,
      usd: usd === WITHDRAWN ? null : usd,
      extras: this.extras.get(place) ?? NO_EXTRAS,
      place,
    };
  }

  /** The row of a place, for messages: `quotes.csv:17`. */
  where(place: number): string {
    const run = runOf(this.#runs, place);
    return run.origin.where(positionIn(run, this.#positions, place));
  }

  /** The places, ascending, of the rows that files of this kind gave. */
  placesOf(kind: GivenKind): Stretch[] {
    return this.#runs.flatMap(({ from, origin }, at) =>
      origin.kind === kind ? [{ from, to: this.#runs[at + 1]?.from ?? this.length }] : [],
    );
  }

  /** Whether any row names a break. */
  get namesBreak(): boolean {
    return this.extras.values().some(({ breakReason }) => breakReason !== undefined);
  }
}

/** Whether each session comes at least so much after the one before. */
export function ascends(sessions: Int32Array, step: 0 | 1): boolean {
  for (let at = 1; at < sessions.length; at += 1) {
    if ((sessions[at] as number) - (sessions[at - 1] as number) < step) return false;
  }
  return true;
}
