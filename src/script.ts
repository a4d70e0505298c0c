import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The script `name` beside the module with the address `at`, for a thread or a process of its own:
 * TypeScript in a checkout, JavaScript in an installed package.
 */
export const scriptBeside = (at: string, name: string): URL =>
  new URL(`${name}${extname(fileURLToPath(at))}`, at);
