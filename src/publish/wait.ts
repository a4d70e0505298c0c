import { setTimeout } from "node:timers/promises";
import { instantText, type Clock } from "../lib/clock.ts";
import { ChipboardError } from "../lib/errors.ts";
import type { Progress } from "./request.ts";

const INTERVAL_MS = 30_000;

/**
 * The result of `attempt`. If it fails because an input is not there yet (`ChipboardError.waitFor`),
 * tries again every 30 seconds, the last time when `waitMs` have passed; then throws its error.
 */
export async function retryWhileEarly<T>(
  attempt: () => Promise<T>,
  waitMs: number,
  clock: Clock,
  progress: Progress,
  pause: (ms: number) => Promise<unknown> = setTimeout,
): Promise<T> {
  const untilMs = clock.now() + waitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const leftMs = untilMs - clock.now();
      const why = error instanceof ChipboardError ? error.waitFor : null;
      if (why === null || leftMs <= 0) throw error;
      progress(`Waiting until ${instantText(untilMs)}: ${why}`, null, null);
      await pause(Math.min(leftMs, INTERVAL_MS));
    }
  }
}
