/** What a state remembers of the log (snapshot/log/seen.ts). */
import type { Storage } from "unstorage";
import { FACTS, find } from "./accounts.ts";
import { change } from "./change.ts";
import type { StateDriver } from "./driver.ts";
import { newerSeen, seenEntry, type SeenEntry } from "../snapshot/log/seen.ts";

/** The name of the item that holds the entry. */
export const SEEN_ITEM = `${FACTS}seen-entry`;

/** The entry that the state has seen; null: none. */
export const seenIn = (storage: Storage): Promise<SeenEntry | null> =>
  find(storage, seenEntry, SEEN_ITEM);

/** See LogMemory. */
export const see = (state: StateDriver, entry: SeenEntry): Promise<SeenEntry> =>
  change(state, async () => {
    const held = await seenIn(state.storage);
    const result = newerSeen(held, entry);
    return { writes: new Map(result === held ? [] : [[SEEN_ITEM, entry]]), result };
  });

/** Forgets the entry. Returns it; null: none was seen. */
export const forgetSeen = (state: StateDriver): Promise<SeenEntry | null> =>
  change(state, async () => {
    const result = await seenIn(state.storage);
    return { writes: new Map(result === null ? [] : [[SEEN_ITEM, null]]), result };
  });
