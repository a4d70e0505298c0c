/**
 * What a state remembers of the log: the newest entry that its proxies have accepted by a signature. A
 * proxy that starts later accepts only a log that has this entry.
 */
import { z } from "zod";

/** An entry by its number and the SHA-256 (hex) of its bytes. */
export const seenEntry = z.object({
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

/** The one with the higher number, and of two with the same the first. */
export const newerSeen = (held: SeenEntry | null, entry: SeenEntry): SeenEntry =>
  held !== null && held.number >= entry.number ? held : entry;
