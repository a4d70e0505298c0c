/**
 * Runs `chipboard` with the given arguments. Then prints what the process and its threads took: the peak
 * of their memory, processor time, and HTTP requests.
 */
import { run } from "../../src/main.ts";
import { sent } from "./sent.ts";

process.exitCode = await run([process.execPath, "chipboard", ...process.argv.slice(2)]);
const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
console.log(`peak_kb=${maxRSS}`);
console.log(`cpu_us=${userCPUTime + systemCPUTime}`);
console.log(`requests=${sent.requests}`);
