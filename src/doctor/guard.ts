/**
 * `guard`: looks over the whole service as `doctor` does, and tells a person of each change: once when something gets
 * bad, once when it is well again. A timer runs it each minute; a file keeps the notices.
 */
import { instantText } from "../lib/clock.ts";
import { ChipboardError, type InputError } from "../lib/errors.ts";
import { CHECKS, faultOf, note, notWatched, ok, notKnown } from "./checks.ts";
import type { CheckName, Finding } from "./checks.ts";
import { examine, type WatchedService } from "./doctor.ts";
import { emptyMemory, readMemory, writeMemory, type Memory } from "./memory.ts";
import {
  changesOf,
  noticeText,
  ping,
  sendNotice,
  toldAfter,
  type NoticeAddress,
} from "./notices.ts";

/** Where notices, pings and the memory go. Null: not given. */
export interface Telling {
  readonly notices: NoticeAddress | null;
  readonly ping: string | null;
  /** The path of `--memory`. */
  readonly memory: string | null;
}

const GUARD_ROWS: readonly CheckName[] = ["notices", "ping", "memory"];
const CORRECT_NOTICES = "correct NOTICE_URL, then chipboard guard --test";

/** The findings, and the notice; null: nothing has changed. */
export interface Watch {
  readonly findings: readonly Finding[];
  readonly notice: string | null;
}

interface Recalled {
  readonly memory: Memory;
  /** Why the file cannot be read; null: it can, or there is none yet. */
  readonly fault: ChipboardError | null;
}

/** The memory in the file of `--memory`; an empty one without it. */
function recall(path: string | null): Recalled {
  if (path === null) return { memory: emptyMemory(), fault: null };
  try {
    return { memory: readMemory(path), fault: null };
  } catch (error) {
    if (!(error instanceof ChipboardError)) throw error;
    return { memory: emptyMemory(), fault: error };
  }
}

/** The findings for `doctor`: the same as for `guard`, but nothing is sent or kept. */
export async function look(service: WatchedService, telling: Telling): Promise<Finding[]> {
  const { memory, fault } = recall(telling.memory);
  const findings = await examine({ ...service, memory, isGuard: false });
  const at = (ms: number | null): string => (ms === null ? "none yet" : instantText(ms));
  return [
    ...findings,
    telling.notices === null
      ? notWatched("notices", "NOTICE_URL")
      : note(
          "notices",
          `the last one: ${at(memory.noticedAtMs)}`,
          "chipboard guard --test tries it",
        ),
    telling.ping === null
      ? notWatched("ping", "--ping")
      : ok("ping", `the last one: ${at(memory.pingedAtMs)}`),
    memoryRow(telling.memory, fault),
  ];
}

/** Looks, tells, pings, and keeps what the next look needs. */
export async function guard(service: WatchedService, telling: Telling): Promise<Watch> {
  const recalled = recall(telling.memory);
  const findings = await examine({ ...service, memory: recalled.memory, isGuard: true });
  return tell(findings, recalled, telling, service.clock.now());
}

/** The same if an option is wrong, so that nothing can be looked at. */
export const tellOfOptions = (telling: Telling, wrong: InputError, nowMs: number): Promise<Watch> =>
  tell(withoutOptions(wrong), recall(telling.memory), telling, nowMs);

async function tell(
  found: readonly Finding[],
  { memory, fault }: Recalled,
  telling: Telling,
  nowMs: number,
): Promise<Watch> {
  // A file that cannot be written is told as well.
  const memorized = memoryRow(telling.memory, fault ?? save(telling.memory, memory));
  const findings = [...found, memorized];
  const isHeard = telling.notices !== null;
  if (isHeard && !memory.isHeard) memory.told = {};
  memory.isHeard = isHeard;
  const changes = changesOf(memory.told, findings);
  const notice = noticeText(changes);

  let failure: ChipboardError | null = null;
  if (telling.notices !== null && notice !== null) {
    failure = await sendNotice(telling.notices, notice);
    if (failure === null) memory.noticedAtMs = nowMs;
  }
  if (failure === null) memory.told = toldAfter(memory.told, changes);
  const noticed =
    telling.notices === null
      ? notWatched("notices", "NOTICE_URL")
      : failure !== null
        ? faultOf("notices", failure, CORRECT_NOTICES)
        : ok(
            "notices",
            memory.noticedAtMs === null
              ? "none was needed yet"
              : `the last one was taken at ${instantText(memory.noticedAtMs)}`,
          );
  // Silence tells the switch that nobody hears of a fault.
  const pinged =
    telling.ping === null
      ? notWatched("ping", "--ping")
      : failure !== null
        ? notKnown("ping", "none while NOTICE_URL takes no notice")
        : await sendPing(telling.ping, memory, nowMs);
  save(telling.memory, memory);
  return { findings: [...found, noticed, pinged, memorized], notice };
}

async function sendPing(url: string, memory: Memory, nowMs: number): Promise<Finding> {
  const failure = await ping(url);
  if (failure !== null) {
    return faultOf("ping", failure, "correct --ping, or look at the dead man's switch");
  }
  memory.pingedAtMs = nowMs;
  return ok("ping", `taken at ${instantText(nowMs)}`);
}

/** Writes the file. Returns why it cannot be written; null: it is. */
function save(path: string | null, memory: Memory): ChipboardError | null {
  if (path === null) return null;
  try {
    writeMemory(path, memory);
    return null;
  } catch (error) {
    if (error instanceof ChipboardError) return error;
    throw error;
  }
}

function memoryRow(path: string | null, fault: ChipboardError | null): Finding {
  if (path === null) return notWatched("memory", "--memory, the file of the notices so far");
  const remedy =
    "name a file of guard's own, which this user may write; each look tells all again until then";
  return fault === null ? ok("memory", path) : faultOf("memory", fault, remedy);
}

/** With a wrong option nothing else can be looked at. */
const withoutOptions = (wrong: InputError): Finding[] =>
  (Object.keys(CHECKS) as CheckName[])
    .filter((name) => !GUARD_ROWS.includes(name))
    .map((name) =>
      name === "options"
        ? faultOf(name, wrong, "correct it in chipboard.env, then restart the units")
        : notKnown(name, "an option is wrong"),
    );
