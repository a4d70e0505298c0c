/** Loaded before the program: kills it before or after one of its changes of the file system. */
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

/** How many such moments pass. */
let left = Number(process.env["KILLED_AT"]);
const pass = (): void => {
  if (left === 0) process.kill(process.pid, "SIGKILL");
  left -= 1;
};

for (const name of ["mkdir", "mkdtemp", "writeFile", "link", "rename", "rm"] as const) {
  const call = fs[name] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(fs, {
    async [name](...args: unknown[]) {
      pass();
      const result = await call(...args);
      pass();
      return result;
    },
  });
}
syncBuiltinESMExports();
