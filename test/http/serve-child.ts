/** `serve` in a process of its own, for tests of options, signals and counts. */
import { serveCommand } from "../../src/commands/serve.ts";
import { ChipboardError } from "../../src/errors.ts";

try {
  await serveCommand().parseAsync();
} catch (error) {
  if (!(error instanceof ChipboardError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
