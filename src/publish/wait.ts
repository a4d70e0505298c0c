/** Repeats a publish while its inputs are not there yet. */
import { setTimeout } from "node:timers/promises";
import { instantText, type Clock } from "../lib/clock.ts";
import { ChipboardError } from "../lib/errors.ts";
import type { Progress } from "./request.ts";

const INTERVAL_MS = 30_000;

/**
 * The result of `attempt`. If it fails because an input is not there yet (`ChipboardError.waitFor`),
 * tries again every 30 seconds, or later if a server asks for it, the last time when `waitMs` have passed; then
 * throws its error. Throws it at once if a server asks for more time than is left. The attempt is told whether
 * there will be another one.
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
      if (!mayWait || !(error instanceof ChipboardError) || error.waitFor === null) throw error;
      const { waitFor, retryAfterMs } = error;
      const leftMs = Math.max(0, untilMs - clock.now());
      if (retryAfterMs > leftMs) throw error;
      progress(`Waiting until ${instantText(untilMs)}: ${waitFor}`, null, null);
      await pause(Math.max(retryAfterMs, Math.min(leftMs, INTERVAL_MS)));
    }
  }
}
