/**
 * What a state remembers of the log: the newest entry that its proxies have accepted by a signature. A
 * proxy that starts later accepts only a log that has this entry.
 */
import { z } from "zod";

const seenEntry = z.object({
  number: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** An entry of the log by its number and the SHA-256 (hex) of its bytes. */
export type SeenEntry = z.infer<typeof seenEntry>;

/** The memory. Its methods reject if the state does not answer. */
export interface LogMemory {
  /** The entry; null: none was seen. */
  seen(): Promise<SeenEntry | null>;

  /**
   * Remembers the entry, unless the memory has one with the same or a higher number. Atomic. Returns
   * what it has afterwards.
   */
  see(entry: SeenEntry): Promise<SeenEntry>;
}

/** The one with the higher number, and of two with the same the first; null: there is none. */
export const newerSeen = (a: SeenEntry | null, b: SeenEntry | null): SeenEntry | null =>
  (a?.number ?? 0) >= (b?.number ?? 0) ? a : b;

/** The text that a state holds. Redis compares its number, which is therefore at the start. */
export const seenText = ({ number, sha256 }: SeenEntry): string => `${number} ${sha256}`;

/** Reads such a text; null or undefined: there is none. Throws if it is another text. */
export function parseSeen(text: unknown): SeenEntry | null {
  if (text === null || text === undefined) return null;
  const [number, sha256] = typeof text === "string" ? text.split(" ") : [];
  return seenEntry.parse({ number: Number(number), sha256 });
}
