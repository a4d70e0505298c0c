/** The request for a publish, and the report of its progress. */
import type { GateOptions } from "../feed/gates.ts";
import type { InputSource } from "../feed/source.ts";
import { USUAL_STILL_SESSIONS } from "../market/coverage.ts";
import type { RestatementOrder } from "../market/published-series.ts";
import type { Session } from "../market/session.ts";
import type { LogKeys } from "../snapshot/log/sign.ts";
import type { TimeGates } from "../snapshot/log/time-gates.ts";

/** How a run writes and signs. */
export interface ReleaseOptions {
  /** Whether to do everything except writing. */
  readonly dryRun: boolean;
  /** How it signs the log, and whom it trusts. Without it, it does neither. */
  readonly keys?: LogKeys;
  /** The gates on the time. Default: the usual limits, and nothing is let through. */
  readonly timeGates?: TimeGates;
  /** Who publishes, and why, for the manifest and its judgements. */
  readonly by?: string | null;
  readonly why?: string | null;
}

/** The options of a publish. It needs at least one source. */
export interface PublishRequest extends Omit<ReleaseOptions, "timeGates"> {
  /** Null: the last published catalog. */
  readonly catalog: InputSource | null;
  readonly quotes: readonly InputSource[];
  readonly closes: readonly InputSource[];
  /** How quotes and closes are written; null: as the program expects them. */
  readonly map: InputSource | null;
  readonly session: Session;
  /** Null: as in the last snapshot. */
  readonly attribution: string | null;
  /** The reason for a change of published data; null: a change is refused. */
  readonly revise: string | null;
  /** Which published closes of series are calculated again, and why; null: they stay. */
  readonly restateSeries: RestatementOrder | null;
  readonly gates: GateOptions;
  /** The contracts whose rows are left out, so that they keep their last level. */
  readonly hold: readonly string[];
  /** Whether rows that cannot be read are left out as well. */
  readonly holdInvalid: boolean;
  /** Whether rows of ids outside the catalog are left out. */
  readonly ignoreUnknown: boolean;
  /** Whether levels with more than 6 decimals are rounded. */
  readonly round: boolean;
  /** After how many sessions without a move a contract is named. */
  readonly noticeStillSessions: number;
  /** How long to retry while an input is missing or sparse, or repeats the head's levels. */
  readonly waitMs: number;
}

/** The values of a request without options. */
export const USUAL_REQUEST = {
  dryRun: false,
  catalog: null,
  quotes: [],
  closes: [],
  map: null,
  attribution: null,
  revise: null,
  restateSeries: null,
  hold: [],
  holdInvalid: false,
  ignoreUnknown: false,
  round: false,
  noticeStillSessions: USUAL_STILL_SESSIONS,
  waitMs: 0,
} as const satisfies Partial<PublishRequest>;

/** Shows the progress of a long run. `total` null: not known. `done` null: the stage says it all. */
export type Progress = (stage: string, done: number | null, total: number | null) => void;
