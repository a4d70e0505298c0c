/**
 * The gates on the time of an entry, which stands in the log for good: every append passes them (append.ts).
 *
 *   gap     the program's clock is many sessions away from the newest entry
 *   clock   the machine's clock differs from the clock of a server: a feed's, or the store's
 *
 * A publish also judges them with its other gates (feed/gates.ts), before it renders anything.
 */
import { instantText, MINUTE_MS, type ServerTime } from "../../lib/clock.ts";
import { InputError, RefusedError } from "../../lib/errors.ts";
import { counted } from "../../lib/text.ts";
import { sessionAt } from "../../market/session.ts";
import type { ObjectStore } from "../../ports/store.ts";
import type { StoredEntry } from "./entry.ts";

/** When to let each through. */
export const TIME_GATES = {
  gap: "If the clock is right",
  clock: "If the machine's clock is right",
} as const;
export type TimeGateName = keyof typeof TIME_GATES;

/** The limits of a run, and the gates that it accepts. */
export interface TimeGates {
  /** How many sessions may lie between the newest entry and the clock. */
  readonly maxGapSessions: number;
  readonly accept: readonly TimeGateName[];
  /** The times that the servers of feeds gave. The store knows its own. */
  readonly serverTimes?: readonly ServerTime[];
}

export const USUAL_TIME_GATES: TimeGates = { maxGapSessions: 14, accept: [] };

/** Clocks further apart are not both right. Answers take a while, and `Date` has whole seconds. */
export const MAX_APART_MS = 5 * MINUTE_MS;

/** One refusal. `measured` and `limit` are sessions (gap) or minutes (clock). */
export interface TimeFinding {
  readonly gate: TimeGateName;
  readonly contract: null;
  readonly measured: number;
  readonly limit: number;
  /** The finding and the expected value, for people. */
  readonly text: string;
}

/** The refusals of an entry that is appended after `newest` (null: it is the first) at `nowMs`. */
export function timeFindings(
  store: ObjectStore,
  newest: StoredEntry | null,
  nowMs: number,
  { maxGapSessions, serverTimes = [] }: Omit<TimeGates, "accept">,
): TimeFinding[] {
  const ofStore = store.serverTime?.() ?? null;
  return [
    ...(newest === null ? [] : gapTo(newest, nowMs, maxGapSessions)),
    ...[...serverTimes, ...(ofStore === null ? [] : [ofStore])].flatMap(apartFrom),
  ];
}

function gapTo({ entry }: StoredEntry, nowMs: number, limit: number): TimeFinding[] {
  const sessions = sessionAt(nowMs) - sessionAt(Date.parse(entry.at));
  const measured = Math.abs(sessions);
  if (measured <= limit) return [];
  const text =
    `The clock says ${instantText(nowMs)}, ${measured} sessions ${sessions > 0 ? "after" : "before"} ` +
    `the newest entry of the log (number ${entry.number}, at ${entry.at}), expected at most ${limit}: ` +
    `the clock ${sessions > 0 ? "may be wrong" : "is wrong, or was when that entry was appended"}`;
  return [{ gate: "gap", contract: null, measured, limit, text }];
}

function apartFrom({ by, saidMs, machineMs }: ServerTime): TimeFinding[] {
  const apartMs = Math.abs(machineMs - saidMs);
  if (apartMs <= MAX_APART_MS) return [];
  const measured = Math.ceil(apartMs / MINUTE_MS);
  const limit = MAX_APART_MS / MINUTE_MS;
  const text =
    `The machine's clock said ${instantText(machineMs)} when ${by} said ${instantText(saidMs)}: ` +
    `it is ${measured} minutes ${machineMs > saidMs ? "ahead" : "behind"}, expected at most ${limit}`;
  return [{ gate: "clock", contract: null, measured, limit, text }];
}

/** Throws RefusedError, with the way on, unless the run may append an entry after `newest` at `nowMs`. */
export function requireTimely(
  store: ObjectStore,
  newest: StoredEntry | null,
  nowMs: number,
  gates: TimeGates,
): void {
  const refused = refusedOf(timeFindings(store, newest, nowMs, gates), gates);
  if (refused.length === 0) return;
  const message = `Refused: ${counted(refused.length, "finding")}; the log stays as it is`;
  throw new RefusedError(message, linesOf(refused));
}

/**
 * The same before the run writes anything. Throws InputError if it accepts a gate that refuses nothing.
 * Returns the findings, which are all accepted.
 */
export function passTimeGates(
  store: ObjectStore,
  newest: StoredEntry | null,
  nowMs: number,
  gates: TimeGates,
): TimeFinding[] {
  const found = timeFindings(store, newest, nowMs, gates);
  const unneeded = gates.accept.filter((name) => !found.some(({ gate }) => gate === name));
  if (unneeded.length > 0) {
    throw new InputError("--accept names a gate that refuses nothing; the log stays as it is", [
      ...unneeded.map((gate) => `--accept ${gate}: the gate ${gate} refuses nothing`),
      ...linesOf(refusedOf(found, gates)),
    ]);
  }
  requireTimely(store, newest, nowMs, gates);
  return found;
}

const refusedOf = (found: readonly TimeFinding[], { accept }: TimeGates): TimeFinding[] =>
  found.filter(({ gate }) => !accept.includes(gate));

/** The findings, and the way on for each gate. */
function linesOf(refused: readonly TimeFinding[]): string[] {
  const gates = [...new Set(refused.map(({ gate }) => gate))];
  return [
    ...refused.map(({ text }) => text),
    ...gates.map((gate) => `${TIME_GATES[gate]}, run this again with --accept ${gate}`),
  ];
}
