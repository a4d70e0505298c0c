/** A process that writes to a folder store: as another user, with a limit, or until it is killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";

const CHILD = join(import.meta.dirname, "store-folder-child.ts");

/** The user of a child if the tests run as root, who can write everywhere. */
export const NOBODY = 65_534;
export const isRoot = process.getuid?.() === 0;

/** The keys whose create returned, and the error that ended the process, if any. */
export interface ChildResult {
  readonly keys: string[];
  readonly error: { readonly exitCode: number; readonly message: string } | null;
}

/** Runs store-folder-child.ts on the folder and collects its output. */
export async function runChild(
  folder: string,
  [first, count, sizeBytes]: [string, string, string],
  how: { asNobody?: boolean; fileLimitKilobytes?: number; killAfter?: number },
): Promise<ChildResult> {
  const command = [process.execPath, CHILD, folder, first, count, sizeBytes];
  if (how.asNobody === true && isRoot) command.push(String(NOBODY));
  const limit = how.fileLimitKilobytes === undefined ? "" : `ulimit -f ${how.fileLimitKilobytes}; `;
  const child = spawn("bash", ["-c", `${limit}exec "$@"`, "bash", ...command], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  const keys: string[] = [];
  let error: ChildResult["error"] = null;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("{")) error = JSON.parse(line);
    else keys.push(line);
    if (keys.length === how.killAfter) child.kill("SIGKILL");
  }
  const [exitCode, signal] = await closed;
  expect([exitCode, signal]).toEqual(how.killAfter === undefined ? [0, null] : [null, "SIGKILL"]);
  return { keys, error };
}
