/** Becomes the user nobody, then runs the program: `node setuid.ts ARGS`. For root's tests of permissions. */
import { run } from "../../src/main.ts";

const NOBODY = 65_534;
process.setgroups?.([]);
process.setgid?.(NOBODY);
process.setuid?.(NOBODY);
process.exitCode = await run(process.argv);
