/** The request as a host hands it over. */
import type { RawFields } from "./serve/entity.ts";

/** Header fields by lower-case name. Of repeated ones some are joined, and of others the first is here. */
export type FieldsByName = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request. Its body is never read. */
export interface Ask {
  readonly method: string;
  /** The request target as it was sent (RFC 9112, 3.2). */
  readonly target: string;
  /** `1.1`; only a request of an older version may lack Host. */
  readonly httpVersion: string;
  readonly headers: FieldsByName;
  /** All fields as they were sent: names and values in turn. */
  readonly rawHeaders: RawFields;
  /** The address at the other end of the connection; undefined: it is gone. */
  readonly peer: string | undefined;
  /** The arrival on a clock of the host, in milliseconds, for durations. */
  readonly arrivedMs: number;
}

/** The value of a field that is not repeated. */
export const fieldIn = (headers: FieldsByName, name: string): string | undefined =>
  headers[name] as string | undefined;

/** How many fields have this name. `headers` hides repeats of some fields; `rawHeaders` does not. */
export function countFields(rawHeaders: RawFields, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const field = rawHeaders[at] as string;
    if (field.length === name.length && field.toLowerCase() === name) count += 1;
  }
  return count;
}
