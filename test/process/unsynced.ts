/** Loaded before the program: the system fails to make names in folders called UNSYNCED durable (EIO). */
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";

const { open } = fs;
Object.assign(fs, {
  async open(...args: Parameters<typeof open>) {
    const file = await open(...args);
    if (basename(String(args[0])) !== process.env["UNSYNCED"]) return file;
    const failure = { code: "EIO", errno: -5, syscall: "fsync" };
    const sync = () => Promise.reject(Object.assign(new Error("EIO: i/o error, fsync"), failure));
    return Object.assign(file, { sync });
  },
});
syncBuiltinESMExports();
