#!/usr/bin/env node
import { run } from "../src/cli.ts";

// A reader that has seen enough (`chipboard … | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
process.exitCode = await run(process.argv);
