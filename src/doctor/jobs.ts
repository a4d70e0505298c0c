/** When the jobs last succeeded: publish and prune by the log. */
import { DAY_MS, instantText } from "../lib/clock.ts";
import { ChipboardError } from "../lib/errors.ts";
import { isPublication, type StoredEntry } from "../snapshot/log/entry.ts";
import { mustRead, readLogBackwards, type LogEnd } from "../snapshot/log/walk.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  ALERT_LIMITS,
  beyondLimit,
  notWatched,
  ok,
  orFailure,
  notKnown,
  type Finding,
} from "./checks.ts";
import type { Memory } from "./memory.ts";

/** A job that ran earlier needs no more than the text "never". */
const LOOK_BACK_DAYS = 60;

/** The rows of publish and prune. `keepDays` null: nothing is pruned. `memory` gets the last successes. */
export async function checkJobs(
  store: ObjectStore,
  end: LogEnd | ChipboardError,
  keepDays: number | null,
  nowMs: number,
  memory: Memory,
): Promise<Finding[]> {
  if (end instanceof ChipboardError || end.newest === null) {
    const why = end instanceof ChipboardError ? "the log cannot be read" : "the log is empty";
    return [notKnown("publish", why), notKnown("prune", why)];
  }
  const { newest } = end;
  const failure = await orFailure(() => findSuccesses(store, newest, nowMs, memory));
  if (failure instanceof ChipboardError) {
    return [notKnown("publish", failure.message), notKnown("prune", failure.message)];
  }
  const { publish } = memory.successes;
  const never = `none in ${LOOK_BACK_DAYS} days`;
  const published =
    publish === null ? `the log has ${never}` : `last success at ${instantText(publish)}`;
  return [ok("publish", published), await checkPrune(store, newest, keepDays, nowMs, memory)];
}

/** Reads the entries after those that an earlier look has read. */
async function findSuccesses(
  store: ObjectStore,
  newest: StoredEntry,
  nowMs: number,
  memory: Memory,
): Promise<void> {
  // Another store, or one that was restored: begin again.
  if (memory.entry > newest.entry.number) {
    Object.assign(memory.successes, { publish: null, prune: null });
    memory.entry = 0;
  }
  const found: { publish?: number; prune?: number } = {};
  for await (const { entry } of readLogBackwards(store, newest)) {
    const atMs = Date.parse(entry.at);
    if (entry.number <= memory.entry || atMs < nowMs - LOOK_BACK_DAYS * DAY_MS) break;
    if (entry.action === "publish") found.publish ??= atMs;
    if (entry.action === "prune") found.prune ??= atMs;
    if (found.publish !== undefined && found.prune !== undefined) break;
  }
  Object.assign(memory.successes, found);
  memory.entry = newest.entry.number;
}

/**
 * A prune that removes nothing writes no entry. So it is missed only if a publication could go for more than a week
 * and none came since.
 */
async function checkPrune(
  store: ObjectStore,
  newest: StoredEntry,
  keepDays: number | null,
  nowMs: number,
  { successes: { prune } }: Memory,
): Promise<Finding> {
  if (keepDays === null) return notWatched("prune", "--keep-days");
  const ageMs = (keepDays + ALERT_LIMITS.pruneDays) * DAY_MS;
  const last = prune === null ? "never" : `at ${instantText(prune)}`;
  const late = await orFailure(() =>
    newestBefore(store, newest, Math.min(nowMs, Date.parse(newest.entry.at)) - ageMs),
  );
  if (late instanceof ChipboardError) return notKnown("prune", late.message);
  const dueMs = late === null ? null : Date.parse(late.entry.at) + keepDays * DAY_MS;
  if (dueMs === null || (prune !== null && prune >= dueMs)) {
    return ok("prune", `last removed something ${last}; nothing waits`);
  }
  const text = `last removed something ${last}; publications before ${instantText(dueMs - keepDays * DAY_MS)} are older than ${keepDays} days`;
  return beyondLimit("prune", text, "chipboard snapshots prune; then look at its timer");
}

/** The newest publication before an instant that a prune may take: not the last two. */
async function newestBefore(
  store: ObjectStore,
  newest: StoredEntry,
  beforeMs: number,
): Promise<StoredEntry | null> {
  let low = 0;
  let high = newest.entry.number - 2;
  let found: StoredEntry | null = null;
  // Times in the log never decrease.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const stored = await mustRead(store, middle);
    if (Date.parse(stored.entry.at) < beforeMs) [low, found] = [middle, stored];
    else high = middle - 1;
  }
  if (found === null) return null;
  for await (const stored of readLogBackwards(store, found)) {
    if (isPublication(stored.entry)) return stored;
  }
  return null;
}
