/** The errors of a folder store, in words for operators. */
import { getSystemErrorMessage } from "node:util";
import { errorCode, UnfitError, UnreachableError } from "../lib/errors.ts";

/**
 * Turns an error of the operating system into an UnreachableError with one line: store (`place`, such
 * as `--store "./snapshots"`), key and cause. A file in place of a folder, a lack of rights, and a file
 * system that is mounted read-only are an UnfitError. Returns any other error unchanged.
 */
export function folderError(
  place: string,
  verb: "read" | "write" | "list" | "remove",
  key: string | null,
  error: unknown,
): unknown {
  if (!(error instanceof Error) || !("errno" in error) || !("syscall" in error)) return error;
  const code = errorCode(error);
  const what = key === null || key === "" ? "to it" : JSON.stringify(key);
  const object = verb === "list" && what === "to it" ? "it" : what;
  const isLink = error.syscall === "link";
  const cause =
    isLink && code === "EXDEV"
      ? "its folder is on another file system than the store (EXDEV); expected a single file system"
      : isLink && NO_LINKS.includes(code)
        ? `hard links do not work here (${code}); expected a file system with hard links`
        : `${getSystemErrorMessage(Number(error.errno))} (${code})`;
  const Failure = ["ENOTDIR", "EACCES", "EPERM", "EROFS"].includes(code)
    ? UnfitError
    : UnreachableError;
  return new Failure(`${place}: cannot ${verb} ${object}: ${cause}`, [], { cause: error });
}

const NO_LINKS = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];
