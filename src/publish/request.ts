import type { GateOptions } from "../feed/gates.ts";
import type { Source } from "../feed/source.ts";
import type { Session } from "../market/session.ts";
import type { SigningKey, VerifyKey } from "../snapshot/signing-key.ts";

/** The options of a publish. It needs at least one source. */
export interface PublishRequest {
  /** Null: the last published catalog. */
  readonly catalog: Source | null;
  readonly quotes: readonly Source[];
  readonly closes: readonly Source[];
  readonly session: Session;
  /** Null: as in the last snapshot. */
  readonly attribution: string | null;
  /** The reason for a change of published data; null: a change is refused. */
  readonly revise: string | null;
  /** Whether to do everything except write. */
  readonly dryRun: boolean;
  readonly gates: GateOptions;
  /** Signs the snapshot. Without it, the snapshot stays unsigned. */
  readonly signingKey?: SigningKey | null;
  /** One of these keys must have signed the head. Without them, the head needs no signature. */
  readonly verifyKeys?: readonly VerifyKey[] | null;
}

/** Shows the progress of a long run. `total` null: not known. */
export type Progress = (stage: string, done: number, total: number | null) => void;
