/** Runs `publish` with the options given and tells the peak memory of the process, threads included. */
import { run } from "../../src/main.ts";

process.exitCode = await run([process.execPath, "chipboard", "publish", ...process.argv.slice(2)]);
console.log(`peak_kb=${process.resourceUsage().maxRSS}`);
