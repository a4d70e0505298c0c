#!/usr/bin/env node
// By default Node opens its debugger on SIGUSR1, to every user of the machine. Before this line only
// `node --disable-sigusr1`, as in deploy/, keeps it from that.
process.on("SIGUSR1", () => undefined);
// Only the owner writes to what is created here, even where the umask is 0.
process.umask(process.umask(0o022) | 0o022);
// A reader that has seen enough (`chipboard … | head`) is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});
const { run } = await import("../src/cli.ts");
process.exitCode = await run(process.argv);
