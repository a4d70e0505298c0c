/**
 * Loaded into a proxy before the program (`node --import`): the parent process can put forward the
 * clock of this process, so that weeks pass for it in minutes. Timers are not affected, as on a
 * computer that slept. The process ends with its parent.
 */

/** Sent by the parent; the process sends it back when it has taken effect. */
export interface ClockStep {
  readonly stepMs: number;
}

const machineNow = Date.now.bind(Date);
let aheadMs = 0;

// Worker threads also load this. They have no channel and do not use the time.
if (process.send !== undefined) {
  Date.now = () => machineNow() + aheadMs;
  process.on("message", (step: ClockStep) => {
    aheadMs += step.stepMs;
    process.send?.(step);
  });
  process.on("disconnect", () => process.exit(1));
  process.channel?.unref();
}
