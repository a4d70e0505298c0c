import { setTimeout } from "node:timers/promises";
import { instantText, type Clock } from "../lib/clock.ts";
import { ChipboardError } from "../lib/errors.ts";
import type { Progress } from "./request.ts";

const INTERVAL_MS = 30_000;

/**
 * The result of `attempt`. If it fails because an input is not there yet (`ChipboardError.waitFor`),
 * tries again every 30 seconds, the last time when `waitMs` have passed; then throws its error. The
 * attempt is told whether there will be another one.
 */
export async function retryWhileEarly<T>(
  attempt: (mayWait: boolean) => Promise<T>,
  waitMs: number,
  clock: Clock,
  progress: Progress,
  pause: (ms: number) => Promise<unknown> = setTimeout,
): Promise<T> {
  const untilMs = clock.now() + waitMs;
  for (;;) {
    const mayWait = clock.now() < untilMs;
    try {
      return await attempt(mayWait);
    } catch (error) {
      const why = error instanceof ChipboardError ? error.waitFor : null;
      if (why === null || !mayWait) throw error;
      progress(`Waiting until ${instantText(untilMs)}: ${why}`, null, null);
      await pause(Math.max(0, Math.min(untilMs - clock.now(), INTERVAL_MS)));
    }
  }
}
