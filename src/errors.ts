/**
 * What can go wrong, by who must act. Every expected failure of a command is one of these classes;
 * `src/cli.ts` turns them into a message and an exit code. Anything else is a defect and exits 1.
 */

/** Exit codes by what they mean; README, "Operating", promises them. */
export const EXIT = {
  done: 0,
  unexpected: 1,
  input: 2,
  refused: 3,
  conflict: 4,
  unreachable: 5,
  damaged: 6,
} as const;

/** What the program can exit with. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The code that Node or the operating system gave (`ENOSPC`), or "" where there is none. */
export function errorCode(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** What was thrown, as a message can go on with it. */
export const reasonOf = (cause: unknown): string =>
  cause instanceof Error ? cause.message : String(cause);

/** A failure that a person can act on. `details` are further lines, one finding each. */
export class ChipboardError extends Error {
  /** With what a command ends that fails so. */
  readonly exitCode: ExitCode;
  readonly details: readonly string[];

  constructor(
    exitCode: ExitCode,
    message: string,
    details: readonly string[] = [],
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
    this.exitCode = exitCode;
    this.details = details;
  }
}

/** Usage or input is wrong; the caller of the command must change it. */
export class InputError extends ChipboardError {
  constructor(message: string, details?: readonly string[], options?: ErrorOptions) {
    super(EXIT.input, message, details, options);
  }
}

/** A gate refused the data; a person must look and may let it through. */
export class RefusedError extends ChipboardError {
  constructor(message: string, details?: readonly string[]) {
    super(EXIT.refused, message, details);
  }
}

/** What is published already contradicts what is asked for. */
export class ConflictError extends ChipboardError {
  constructor(message: string, details?: readonly string[]) {
    super(EXIT.conflict, message, details);
  }
}

/** The store or the state cannot be reached, or is not fit for its purpose. */
export class UnreachableError extends ChipboardError {
  constructor(message: string, details?: readonly string[], options?: ErrorOptions) {
    super(EXIT.unreachable, message, details, options);
  }
}

/** Stored bytes are not what was written. */
export class DamageError extends ChipboardError {
  constructor(message: string, details?: readonly string[], options?: ErrorOptions) {
    super(EXIT.damaged, message, details, options);
  }
}
