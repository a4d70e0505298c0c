/** The file of `--memory`: the notices of `guard` so far, and each job's last success. */
import { randomUUID } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { errorCode, InputError, reasonOf, UnreachableError } from "../lib/errors.ts";
import { PRIVATE_FILE_MODE } from "../lib/modes.ts";
import { CHECKS, type CheckName, type Finding } from "./checks.ts";

const FORMAT = 1;

const ms = z.number().nullable();
const checkName = z.enum(Object.keys(CHECKS) as [CheckName, ...CheckName[]]);
const code = z.literal([0, 1, 2, 3, 4, 5, 6]);
/** A finding that later looks repeat, and its subject. */
const kept = z.object({
  atMs: z.number(),
  key: z.string(),
  finding: z.object({
    check: checkName,
    result: z.enum(["ok", "note", "fault", "unknown", "not watched"]),
    exitCode: code,
    text: z.string(),
    remedy: z.string().nullable(),
  }),
});

const serverTime = z.object({ by: z.string(), saidMs: z.number(), machineMs: z.number() });

const memorySchema = z.object({
  format: z.literal(FORMAT),
  /** The faults that were told and are not well again, with their codes. */
  told: z.partialRecord(checkName, code),
  /** Whether NOTICE_URL was there to hear of them; otherwise only the log has them. */
  isHeard: z.boolean(),
  /** When each job last succeeded (epoch milliseconds), as far as it is known. */
  successes: z.object({ publish: ms, prune: ms, backup: ms }),
  /** The newest entry of the log in which the successes were looked for. */
  entry: z.number(),
  kept: z.object({
    feeds: kept.extend({ serverTimes: z.array(serverTime) }).optional(),
    head: kept.optional(),
    condition: kept.optional(),
    drill: kept.optional(),
  }),
  /** Whether the state had an account at a look. */
  hadAccounts: z.boolean().default(false),
  /** The restarts of each unit at the last look. */
  restarts: z.record(z.string(), z.number()),
  noticedAtMs: ms,
  pingedAtMs: ms,
});

/** The facts that one look keeps for the next one, which changes them. */
export type Memory = z.infer<typeof memorySchema>;

export const emptyMemory = (): Memory => ({
  format: FORMAT,
  told: {},
  isHeard: false,
  successes: { publish: null, prune: null, backup: null },
  entry: 0,
  kept: {},
  hadAccounts: false,
  restarts: {},
  noticedAtMs: null,
  pingedAtMs: null,
});

/** The memory in the file; an empty one if there is no file. Throws InputError if it is another file. */
export function readMemory(path: string): Memory {
  const where = `--memory ${JSON.stringify(path)}`;
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return emptyMemory();
    throw new InputError(`${where}: cannot be read: ${reasonOf(cause)}`, [], { cause });
  }
  try {
    return memorySchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new InputError(`${where}: expected a file that guard has written`, [], { cause });
  }
}

/** Replaces the file in one step. Throws UnreachableError if it cannot be written. */
export function writeMemory(path: string, memory: Memory): void {
  const fresh = `${path}.${randomUUID()}`;
  try {
    writeFileSync(fresh, `${JSON.stringify(memory)}\n`, { mode: PRIVATE_FILE_MODE, flag: "wx" });
    renameSync(fresh, path);
  } catch (cause) {
    rmSync(fresh, { force: true });
    const message = `--memory ${JSON.stringify(path)}: cannot be written: ${reasonOf(cause)}`;
    throw new UnreachableError(message, [], { cause });
  }
}

/** A clock that was set back by more says nothing of the age of a look. */
const CLOCK_SLACK_MS = 60_000;

/** How long ago a look was, in milliseconds; Infinity if it was later, because the clock was set back. */
export function ageOf(atMs: number, nowMs: number): number {
  const age = nowMs - atMs;
  return age < -CLOCK_SLACK_MS ? Infinity : age;
}

/**
 * The finding of an earlier look, if it was found of `key` less than `ageMs` ago and is no fault; otherwise the
 * finding of `look`, which is kept. Without a memory always looks.
 */
export async function lookSeldom(
  memory: Memory | null,
  name: "head" | "condition",
  key: string,
  { nowMs, ageMs }: { readonly nowMs: number; readonly ageMs: number },
  look: () => Promise<Finding>,
): Promise<Finding> {
  const last = memory?.kept[name];
  const isUsable =
    last?.key === key && last.finding.result !== "fault" && ageOf(last.atMs, nowMs) < ageMs;
  if (isUsable) return last.finding;
  const finding = await look();
  if (memory !== null) memory.kept[name] = { atMs: nowMs, key, finding };
  return finding;
}
