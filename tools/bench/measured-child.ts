/**
 * Runs `chipboard` with the given arguments. Then prints what the process and its threads took: the peak
 * of their memory, processor time, and HTTP requests.
 */
import { run } from "../../src/main.ts";
import { sent } from "./sent.ts";
import { residentMb } from "./server-process.ts";

process.exitCode = await run([process.execPath, "chipboard", ...process.argv.slice(2)]);
const { userCPUTime, systemCPUTime } = process.resourceUsage();
// maxRSS of resourceUsage includes the memory of the process that started this one.
console.log(`peak_mb=${Math.round(residentMb(process.pid).peak)}`);
console.log(`cpu_us=${userCPUTime + systemCPUTime}`);
console.log(`requests=${sent.requests}`);
