/** No command shows a password that stands in an address, wherever it stands there and whatever signs it holds. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inProcess } from "./run.ts";

const SECRET = "Sec";
const REST = "REThidden";
const SIGNS = ["/", "#", "?", "@", "%", ":", "\\", " ", "//", "%zz"];
/** Where a password can stand; the last ones are mistakes. Nothing listens at port 1. */
const PLACES = [
  "://:PASSWORD@127.0.0.1:1/0",
  "://PASSWORD@127.0.0.1:1/0",
  "://user:PASSWORD@127.0.0.1:1",
  "://default:PASSWORD",
  "://127.0.0.1:1/PASSWORD",
  "://127.0.0.1:1/0?password=PASSWORD",
  "://127.0.0.1:1/0#PASSWORD",
  ":/:PASSWORD@127.0.0.1:1/0",
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-secrets-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Each command that takes the address of a state, a store or a server, and how it gets it. */
const COMMANDS: Record<string, (address: string) => [args: string[], env?: object]> = {
  "accounts ls": (at) => [["accounts", "ls", "--state", at]],
  "usage, by the variable": (at) => [["usage"], { CHIPBOARD_STATE: at }],
  doctor: (at) => [["doctor", "--json", "--port", "0", "--metrics-port", "off", "--state", at]],
  "state init": (at) => [["state", "init", "--state", at]],
  "state copy from": (at) => [["state", "copy", at, "./copy"]],
  "state backup of": (at) => [["state", "backup", "b.sqlite", "--state", at]],
  "state backup to": (at) => [["state", "backup", at]],
};
const OF_STORES: typeof COMMANDS = {
  "snapshots ls": (at) => [["snapshots", "ls", "--store", at]],
  "snapshots copy": (at) => [["snapshots", "copy", "./snapshots", at]],
  "snapshots repair": (at) => [["snapshots", "repair", "--from", at]],
  "doctor of a store": (at) => [
    ["doctor", "--json", "--port", "0", "--metrics-port", "off", "--store", at],
  ],
};
const OF_SERVERS: typeof COMMANDS = {
  "--s3-endpoint": (at) => [["snapshots", "ls", "--store", "s3://bucket", "--s3-endpoint", at]],
  "a feed": (at) => [["publish", "--catalog", "c.csv", "--quotes", at]],
  "the feed of doctor": (at) => [
    ["doctor", "--json", "--port", "0", "--metrics-port", "off"],
    { CHIPBOARD_QUOTES: at },
  ],
  "a proxy": (at) => [
    ["publish", "--catalog", "c.csv", "--quotes", "http://feed.invalid/q.csv"],
    { HTTP_PROXY: at },
  ],
  check: (at) => [["check", at]],
};

const CASES = [
  ...Object.entries(COMMANDS).map((each) => ["redis", ...each] as const),
  ...Object.entries(OF_STORES).map((each) => ["s3", ...each] as const),
  ...Object.entries(OF_SERVERS).map((each) => ["http", ...each] as const),
];

test.each(CASES)("%s: %s", async (scheme, _name, command) => {
  for (const sign of SIGNS) {
    for (const place of PLACES) {
      // Only the address of a Redis has no path of its own. After an @ stands a host.
      if (!place.includes("@") && (scheme !== "redis" || sign === "@")) continue;
      const address = scheme + place.replace("PASSWORD", SECRET + sign + REST);
      const [args, env = {}] = command(address);
      const { code, stdout, stderr } = await inProcess(args, { cwd: folder, env: { ...env } });
      expect([address, code]).not.toEqual([address, 0]);
      expect([address, (stdout + stderr).includes(REST)]).toEqual([address, false]);
    }
  }
  expect(readdirSync(folder)).toEqual([]);
});
