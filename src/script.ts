import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The address of the script `name` in the folder of the module `at`: TypeScript in a checkout,
 * JavaScript in an installed package. For scripts that run as a thread or a process.
 */
export const scriptBeside = (at: string, name: string): URL =>
  new URL(`${name}${extname(fileURLToPath(at))}`, at);
