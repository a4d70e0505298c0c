/**
 * One class for each kind of failure that a person can act on. `src/main.ts` prints the message and
 * exits with the class's code. Any other error is a defect and exits with 1.
 */

/** The exit codes, which docs/reference promises. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  input: 2,
  refused: 3,
  conflict: 4,
  unreachable: 5,
  damaged: 6,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The code of an error of Node or the operating system (`ENOSPC`); "" if it has none. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** The message of anything that was thrown. */
export const reasonOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);

interface FailureOptions extends ErrorOptions {
  readonly waitFor?: string;
  readonly retryAfterMs?: number;
}

/** A failure that a person can act on. `details` has one more line for each finding. */
export abstract class ChipboardError extends Error {
  abstract readonly exitCode: ExitCode;
  readonly details: readonly string[];
  /** Names a part that is not there yet, so that a later try may succeed; null: none. */
  readonly waitFor: string | null;
  /** At least how long to wait before a later try, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(message: string, details: readonly string[] = [], options?: FailureOptions) {
    super(message, options);
    this.name = new.target.name;
    this.details = details;
    this.waitFor = options?.waitFor ?? null;
    this.retryAfterMs = options?.retryAfterMs ?? 0;
  }
}

/** The command line or an input is wrong. Its author must change it. */
export class InputError extends ChipboardError {
  readonly exitCode = EXIT.input;
}

/** A gate refused the data. A person must check it, and can let it through. */
export class RefusedError extends ChipboardError {
  readonly exitCode = EXIT.refused;
}

/** The request contradicts the published data. */
export class ConflictError extends ChipboardError {
  readonly exitCode = EXIT.conflict;
}

/** The store or the state does not answer, or cannot do what chipboard needs; or a port is in use. */
export class UnreachableError extends ChipboardError {
  readonly exitCode = EXIT.unreachable;
}

/** The place answers, and its answer needs a person: a retry does not help. */
export class UnfitError extends UnreachableError {}

/** The store is not the one that the state remembers. */
export class LostStoreError extends UnfitError {}

/** Stored bytes differ from the bytes that were written. */
export class DamageError extends ChipboardError {
  readonly exitCode = EXIT.damaged;
}

/** A command has printed its error. Only its exit code is left to give. */
export class PrintedError extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode) {
    super(`The command ends with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** The result of the work; null: it ends with a DamageError. Throws other errors. */
export async function nullIfDamaged<T>(work: () => T | Promise<T>): Promise<T | null> {
  const result = await orDamage(work);
  return result instanceof DamageError ? null : result;
}

/** What the work gives, or the DamageError that it ends with. Throws other errors. */
export const orDamage = <T>(work: () => T | Promise<T>): Promise<T | DamageError> =>
  orError(DamageError, work);

/** The same with another class of errors. */
export async function orError<T, E extends Error>(
  kind: abstract new (...given: never[]) => E,
  work: () => T | Promise<T>,
): Promise<T | E> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}
