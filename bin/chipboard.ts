#!/usr/bin/env node
// By default Node opens its debugger on SIGUSR1, to every user of the machine. Before this line only
// `node --disable-sigusr1`, as in deploy/, keeps it from that.
process.on("SIGUSR1", () => undefined);
// Only the owner writes to files created here, even where the umask is 0.
process.umask(process.umask(0o022) | 0o022);
let outputFailure: NodeJS.ErrnoException | null = null;
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`chipboard … | head`) is no failure.
  if (error.code === "EPIPE" || outputFailure !== null) return;
  outputFailure = error;
  process.exitCode = 1;
  process.stderr.write(`error: standard output cannot be written: ${error.message}\n`);
});
const { run } = await import("../src/main.ts");
const code = await run(process.argv);
process.exitCode = outputFailure === null ? code : 1;
