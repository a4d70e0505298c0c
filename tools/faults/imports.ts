/**
 * An import of 1,000 accounts that is killed (SIGKILL) at its writes, with the state in a folder
 * and in Redis, where it also creates the state. Afterwards there is no account or all of them are there,
 * and a second import adds them or says that they exist.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { NoStateError } from "../../src/ports/state.ts";
import { withRegistry } from "../../src/state/open.ts";
import { chipboard, type Ran } from "../../test/program/program.ts";
import { testService } from "../../test/services/services.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";

const ACCOUNTS = 1_000;
/** Other tests on the same server use other databases. */
const REDIS_DATABASE = 12;
const PRELOAD = join(import.meta.dirname, "killed-at-write.ts");
/** Every n-th write is struck, and the first and last ones. SQLite writes each account by a statement of its own. */
const STRIDES = { full: 10, short: 120 } as const;
const ENDS = 6;
const RUNS_AT_ONCE = 2;

/** A place for states. */
interface Place {
  readonly name: string;
  /** The moment after a write of SQLite is also the moment before the next one. */
  readonly moments: readonly string[];
  /** An address of no state yet, for the run of this number. */
  readonly at: (number: number) => Promise<string>;
  readonly atOnce: number;
}

/** Throws without Redis. */
export const importFaults: Faults = async (options) => [
  ...(await folderImportFaults(options)),
  ...(await redisImportFaults(options)),
];

export const folderImportFaults: Faults = async (options) => {
  const at = async (number: number): Promise<string> => {
    rmSync(join(options.folder, `state-${number - 10}`), { recursive: true, force: true });
    return join(options.folder, `state-${number}`);
  };
  const place = { name: "a folder", moments: ["before"], at, atOnce: RUNS_AT_ONCE };
  return [await killedAtEachWrite(place, options)];
};

export const redisImportFaults: Faults = async (options) => {
  const redis = testService("redis");
  if (redis === null) throw new Error("There is no Redis; see test/services/install");
  const url = new URL(redis.env["CHIPBOARD_TEST_REDIS_URL"] as string);
  url.pathname = `/${REDIS_DATABASE}`;
  const client = new Redis(url.href);
  const at = async (): Promise<string> => {
    await client.flushdb();
    return url.href;
  };
  try {
    const place = { name: "Redis", moments: ["before", "during", "after"], at, atOnce: 1 };
    return [await killedAtEachWrite(place, options)];
  } finally {
    await client.flushdb();
    client.disconnect();
    redis.stop();
  }
};

async function killedAtEachWrite(
  { name, moments, at, atOnce }: Place,
  { folder, scale, say }: FaultOptions,
): Promise<FaultRow> {
  const tally = new Tally(`kill -9 of an import of ${ACCOUNTS} accounts into ${name}`, say);
  const file = join(folder, "accounts.csv");
  const rows = Array.from(
    { length: ACCOUNTS },
    (_, row) => `account-${row},starter,14,note ${row}`,
  );
  writeFileSync(file, `name,tier,trial_days,note\n${rows.join("\n")}\n`);
  const run = (state: string, order = ""): Promise<Ran> =>
    chipboard(["accounts", "import", file, "--state", state, "--json"], {
      preload: PRELOAD,
      env: { KILL_AT: order },
    });
  const { code, stderr } = await run(await at(0));
  const writes = Number(/^(\d+) writes$/m.exec(stderr)?.[1]);
  if (code !== 0 || !(writes > 1)) throw new Error(`The import ended with ${code}: ${stderr}`);
  const isStruck = (write: number): boolean =>
    write % STRIDES[scale] === 0 || write <= ENDS || write > writes - ENDS;
  const orders = Array.from({ length: writes }, (_, index) => index + 1)
    .filter(isStruck)
    .flatMap((write) => moments.map((moment) => `${write} ${moment}`));
  if (!moments.includes("after")) orders.push(`${writes} after`);
  say(`${name}: ${orders.length} kills at ${writes} writes`);
  const queue = orders.entries();
  const strike = async (): Promise<void> => {
    for (const [index, order] of queue) {
      await tally.inject(`write ${order}`, async () => {
        const state = await at(index + 1);
        const killed = await run(state, order);
        if (killed.code !== null) throw new Error(`It was not killed: ${killed.stderr}`);
        await requireNoneOrAll(state, () => run(state));
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, strike));
  return tally.row;
}

async function requireNoneOrAll(state: string, again: () => Promise<Ran>): Promise<void> {
  const found = await countIn(state);
  if (found !== 0 && found !== ACCOUNTS) throw new Error(`There are ${found} accounts`);
  const { code, stderr } = await again();
  const isTold = code === 4 && stderr.includes('name "account-0": expected a name that no account');
  if (found === 0 ? code !== 0 : !isTold) throw new Error(`Then: ${code}, ${stderr}`);
  if ((await countIn(state)) !== ACCOUNTS) throw new Error("A second import did not add the rest");
}

/** How many accounts are in the state; none if there is none. */
const countIn = (state: string): Promise<number> =>
  withRegistry(state, { now: () => Date.now() }, "use", async (registry) => {
    return (await registry.accounts()).length;
  }).catch((error: unknown) => {
    if (error instanceof NoStateError) return 0;
    throw error;
  });
