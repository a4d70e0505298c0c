/** Of each store the newest entry of the log that proxies have accepted (snapshot/log/lost.ts), kept in the state. */
import { isDeepStrictEqual } from "node:util";
import type { Storage } from "unstorage";
import { z } from "zod";
import { remembering, seenLog, type SeenLog } from "../snapshot/log/lost.ts";
import { seenEntry, type SeenEntry } from "../snapshot/log/seen.ts";
import { change, find, type Write } from "./accounts.ts";
import type { Item, StateDriver } from "../ports/state.ts";

/** The item with the remembered logs of all stores. */
const SEEN_ITEM = "facts:seen-logs";
const seenRecord = z.object({ logs: z.array(seenLog) });
/** Releases before 0.4.0 kept one entry, of the only store that they knew. */
const OLD_SEEN_ITEM = "facts:seen-entry";

/** What the state remembers of the log of each store. */
export async function seenIn(storage: Storage): Promise<SeenLog[]> {
  const records = [
    find(storage, seenRecord, SEEN_ITEM),
    find(storage, seenEntry, OLD_SEEN_ITEM),
  ] as const;
  return seenOfRecords(...(await Promise.all(records)));
}

/** The same among all items of a state. */
export function seenAmong(items: readonly Item<string>[]): SeenLog[] {
  const valueOf = (item: string): unknown =>
    JSON.parse(items.find(([name]) => name === item)?.[1] ?? "null");
  return seenOfRecords(
    seenRecord.nullable().parse(valueOf(SEEN_ITEM)),
    seenEntry.nullable().parse(valueOf(OLD_SEEN_ITEM)),
  );
}

export const isOfSeen = (item: string): boolean => item === SEEN_ITEM || item === OLD_SEEN_ITEM;

const seenOfRecords = (
  record: z.infer<typeof seenRecord> | null,
  old: SeenEntry | null,
): SeenLog[] => [
  ...(record?.logs ?? []),
  ...(old === null ? [] : [{ store: null, first: null, ...old, locations: [] }]),
];

/** Remembers a log (see LogMemory). */
export const see = (state: StateDriver, log: SeenLog): Promise<void> =>
  change(state, async (write) => {
    const before = await seenIn(state.storage);
    const after = remembering(before, log);
    if (!isDeepStrictEqual(before, after)) writeSeen(write, after);
  });

/** Writes the remembered logs of all stores. */
export function writeSeen(write: Write, logs: readonly SeenLog[]): void {
  const old = logs.find(({ first }) => first === null);
  const others = logs.filter((log) => log !== old);
  write(SEEN_ITEM, others.length === 0 ? null : { logs: others });
  write(OLD_SEEN_ITEM, old === undefined ? null : { number: old.number, sha256: old.sha256 });
}
