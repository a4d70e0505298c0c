/** Errors of commands about the files that options name. */
import { InputError, reasonOf } from "../lib/errors.ts";

/**
 * The result of `read`. If `read` fails, throws an InputError that begins with `where`
 * (`--tls-key "key.pem"`). An InputError of `read` itself passes unchanged.
 */
export async function readable<T>(where: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof InputError) throw cause;
    throw new InputError(`${where}: cannot be read: ${reasonOf(cause)}`, [], { cause });
  }
}

/** The error for a file of `option` that cannot be written because of `cause`. */
export const notWritable = (option: string, path: string, cause: unknown): InputError => {
  const where = `${option} ${JSON.stringify(path)}`;
  const message = `${where}: expected a file to write (${reasonOf(cause)})`;
  return new InputError(message, [], { cause });
};
