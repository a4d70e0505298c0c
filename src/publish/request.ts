import type { GateOptions } from "../feed/gates.ts";
import type { Source } from "../feed/source.ts";
import type { Session } from "../market/session.ts";

/** What a publish is asked to do. At least one source is needed. */
export interface PublishRequest {
  /** Null: the last published catalog stands. */
  readonly catalog: Source | null;
  readonly quotes: readonly Source[];
  readonly closes: readonly Source[];
  readonly session: Session;
  /** Null: as in the last snapshot. */
  readonly attribution: string | null;
  /** Why published data is changed; null: it must not be. */
  readonly revise: string | null;
  readonly dryRun: boolean;
  readonly gates: GateOptions;
}

/** Tells a person how far a long run is. `total` null: not known. */
export type Progress = (stage: string, done: number, total: number | null) => void;
