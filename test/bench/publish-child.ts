/** Runs `publish` with the given options, and prints the peak memory of the process and its threads. */
import { run } from "../../src/main.ts";

process.exitCode = await run([process.execPath, "chipboard", "publish", ...process.argv.slice(2)]);
console.log(`peak_kb=${process.resourceUsage().maxRSS}`);
