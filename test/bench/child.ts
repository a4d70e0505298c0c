/** Processes of the benches must not outlive them, nor stay asleep. */
import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Kills `child` when this process exits, however it comes about. */
export function endWithUs(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
}
