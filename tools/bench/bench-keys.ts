/**
 * The cost of a million keys in the registry: requests for the board with one of them, compared with
 * a registry that holds one key. Also the cost of many keys in use at once:
 * ten thousand keys, whose counts are written ten times per second; and keys
 * drawn at random from all, most of which must be looked up first.
 */
import { cpSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stateFilePath } from "../../src/state/sqlite/sqlite-file.ts";
import { createLargeState, KEYS_EACH } from "./million.ts";
import { environment, outputOf } from "../../test/program/program.ts";
import { Race, raceColumns, type Runner } from "./race.ts";
import { atLeast, type BenchOptions, type Section } from "./section.ts";
import { residentMb, Servers, type Server } from "./server-process.ts";
import { BOARD_PATH, fieldsOf, NOW, prepareService, startProxy } from "./bench-service.ts";

const ACCOUNTS = 200_000;
const KEYS = ACCOUNTS * KEYS_EACH;
const ACTIVE_KEYS = 10_000;

const BASE = "one key, registry of one";
const ALL = "1,000,000 keys at random";
const ACTIVE = "10,000 of 1,000,000 keys";
const ONE = "one of 1,000,000 keys";

export async function benchKeys(options: BenchOptions): Promise<Section> {
  const { folder, say } = options;
  say("keys: publishing");
  const service = await prepareService(folder);
  say(`keys: creating ${KEYS.toLocaleString("en")} keys`);
  const files = { all: join(folder, "all.txt"), active: join(folder, "active.txt") };
  const large = join(folder, "large-state");
  const account = await createLargeState(large, ACCOUNTS, files.all);
  await requireListed(account, large);
  const stateMb = statSync(stateFilePath(large)).size / 2 ** 20;
  // A copy of its own, so that the two loads do not share a cache of keys.
  const calm = join(folder, "calm-state");
  cpSync(large, calm, { recursive: true });
  const oneOfAll = lines(files.all)[KEYS >> 1] as string;
  const each = KEYS / ACTIVE_KEYS;
  const active = lines(files.all).filter((key, at) => key !== "" && at % each === 0);
  writeFileSync(files.active, active.join("\n"));

  await using servers = new Servers();
  const start = (state: string, log: string): Promise<Server> =>
    servers.add(startProxy({ ...service, state }, join(folder, log)));
  const single = await start(service.state, "single.log");
  const stormy = await start(large, "stormy.log");
  const quiet = await start(calm, "calm.log");
  const { "accept-encoding": coding = "" } = fieldsOf("");
  const runner = (name: string, server: Server, file: string): Runner => ({
    name,
    server,
    load: {
      url: `${server.url}${BOARD_PATH}`,
      fields: { "accept-encoding": coding },
      lines: { file, kind: "key" },
    },
    answerBytes: null,
  });
  const keyFile = (name: string, key: string): string => {
    const file = join(folder, name);
    writeFileSync(file, key);
    return file;
  };
  const runners = [
    runner(BASE, single, keyFile("single.txt", service.key)),
    { ...runner(ALL, stormy, files.all), warmUpSeconds: 10 },
    { ...runner(ACTIVE, quiet, files.active), warmUpSeconds: 5 },
    runner(ONE, quiet, keyFile("one.txt", oneOfAll)),
  ];
  const memory = [single, stormy, quiet].map(({ pid }) => residentMb(pid).now);
  const race = await Race.run("keys", runners, options);
  const peaks = [single, stormy, quiet].map(({ pid }) => residentMb(pid).peak);
  await servers.stop();
  race.requireCharged([BASE], callsWritten(service.state));
  race.requireCharged([ALL], callsWritten(large));
  race.requireCharged([ACTIVE, ONE], callsWritten(calm));

  const mb = (at: number): string => `${memory[at]?.toFixed(0)} to ${peaks[at]?.toFixed(0)} MB`;
  const ratio = race.ratio(ONE, BASE);
  return {
    title: "Keys",
    columns: [...raceColumns(BASE), "memory"],
    rows: race.rows(BASE).map((row, at) => [...row, mb(Math.min(at, 2))]),
    notes: [
      `The large registry has ${ACCOUNTS.toLocaleString("en")} pro accounts with ${KEYS_EACH} keys each, ` +
        `${stateMb.toFixed(0)} MB in SQLite. Memory: before the load, and at its peak. The figure is ` +
        `the one of "${ONE}".`,
    ],
    targets: [
      atLeast(
        "a million keys in the registry cost at most 10 % of the throughput with one",
        ratio,
        0.9,
      ),
    ],
    figures: { million_keys: ratio },
  };
}

/** Throws unless the command line finds the account's keys. */
async function requireListed(account: string, state: string): Promise<void> {
  const listed = await outputOf(["keys", "ls", account, "--state", state, "--json"], {
    env: environment(NOW),
  });
  const keys = JSON.parse(listed) as { status: string }[];
  const active = keys.filter(({ status }) => status === "active");
  if (active.length !== KEYS_EACH) throw new Error(`${account} has keys ${listed}`);
}

/** The calls of all accounts in the state of a proxy that has ended. Each is also counted by its key. */
function callsWritten(state: string): number {
  const database = new DatabaseSync(stateFilePath(state), { readOnly: true });
  try {
    const sum = "SELECT sum(used) AS used FROM calls WHERE subject GLOB 'account:*'";
    return Number(database.prepare(sum).get()?.["used"] ?? 0);
  } finally {
    database.close();
  }
}

const lines = (file: string): string[] => readFileSync(file, "utf8").split("\n");
