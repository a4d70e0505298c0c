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
// A command that waits for what never comes ends with the event loop, and Node would call that a success.
const tellUnfinished = (): void => {
  process.exitCode = 1;
  process.stderr.write("error: The command ended before its work was done; run it again\n");
};
process.once("beforeExit", tellUnfinished);
const code = await run(process.argv);
process.off("beforeExit", tellUnfinished);
process.exitCode = outputFailure === null ? code : 1;
