/**
 * Loaded into a proxy before the program (`node --import`): lets the clock of the machine, as this
 * process sees it, be put forward from outside, as that of a computer is that slept. So a process
 * lives through weeks in minutes. Its timers run on as they do. It ends with whoever started it.
 */

/** What the starter sends; the same comes back when it has taken effect. */
export interface ClockStep {
  readonly stepMs: number;
}

const machineNow = Date.now.bind(Date);
let aheadMs = 0;

// Threads of the process load this, too; they have no channel and ask for no time.
if (process.send !== undefined) {
  Date.now = () => machineNow() + aheadMs;
  process.on("message", (step: ClockStep) => {
    aheadMs += step.stepMs;
    process.send?.(step);
  });
  process.on("disconnect", () => process.exit(1));
  process.channel?.unref();
}
