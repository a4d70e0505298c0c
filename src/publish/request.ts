import type { GateOptions } from "../feed/gates.ts";
import type { Source } from "../feed/source.ts";
import type { Session } from "../market/session.ts";
import type { SigningKey, VerifyKey } from "../snapshot/signing-key.ts";

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
  /** Whether to do everything but write. */
  readonly dryRun: boolean;
  readonly gates: GateOptions;
  /** Signs the snapshot; without, it stays unsigned. */
  readonly signingKey?: SigningKey | null;
  /** The head must be signed by one of them; without, it is gone on from as it is. */
  readonly verifyKeys?: readonly VerifyKey[] | null;
}

/** Tells a person how far a long run is. `total` null: not known. */
export type Progress = (stage: string, done: number, total: number | null) => void;
