/**
 * Is loaded before the program, which then ends with SIGKILL at one write to its state: before it, when a
 * command to Redis is on its way, or after it. A write is each statement of SQLite that is not a query,
 * and each command to Redis. Without an order, it says at the end how many writes there were.
 */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { Redis } from "ioredis";

const STANDARD_ERROR = 2;
const [at, moment] = (process.env["KILL_AT"] ?? "").split(" ");
let writes = 0;

function kill(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal may arrive after the call has returned.
  for (;;);
}

function struck<T>(run: () => T): T {
  writes += 1;
  if (writes !== Number(at)) return run();
  flushCompileCache();
  if (moment === "before") kill();
  const result = run();
  if (!(result instanceof Promise)) kill();
  if (moment === "during") setImmediate(kill);
  void result.then(kill, kill);
  return result;
}

const { run } = StatementSync.prototype;
StatementSync.prototype.run = function (this: StatementSync, ...values: unknown[]) {
  return struck(() => run.apply(this, values as Parameters<typeof run>));
};
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string) {
  return struck(() => exec.call(this, sql));
};
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (this: Redis, ...command) {
  return struck(() => sendCommand.apply(this, command));
};
process.once("exit", () => void writeSync(STANDARD_ERROR, `${writes} writes\n`));
