/**
 * What signing adds to a publish, a rollback and a prune, and whether that grows with the log: the
 * operations of the store, its bytes and, on S3, the HTTP requests behind them. All runs of a store
 * follow each other in this process; those without keys come last, because they leave the log unsigned.
 */
import { join } from "node:path";
import { prune } from "../../src/desk/prune.ts";
import { findSnapshot } from "../../src/desk/find-snapshot.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { sessionKey } from "../../src/market/session.ts";
import { NO_KEYS, type LogKeys } from "../../src/snapshot/log/sign.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { FILES } from "../../src/store/paths.ts";
import { TIER_NAMES } from "../../src/market/tier.ts";
import { InterceptedStore, type Operation } from "../../test/faults/crash-store.ts";
import { testService } from "../../test/services/services.ts";
import { FIRST_SESSION, instantIn } from "./bench-market.ts";
import { grown, type BenchOptions, type Section, type Target } from "./section.ts";
import { sent } from "./sent.ts";
import { CONTRACTS } from "./bench-service.ts";
import { folderPlace, growTo, s3Place, signedStore, type SignedStore } from "./signed-store.ts";
import { appendRollbacks, publishQuotes } from "./vintage-store.ts";

const SIZES = [10, 1_000] as const;
const SESSIONS = 5;

const ACTIONS = ["publish", "rollback", "prune"] as const;
const KEYS = ["none", "--sign-key", "--sign-key --verify-key"] as const;
type Keys = (typeof KEYS)[number];

type Tally = Record<Operation["kind"] | "written" | "read", number>;

/** A run and its cost. */
interface Cost extends Tally {
  readonly action: (typeof ACTIONS)[number];
  readonly keys: Keys;
  readonly requests: number;
  readonly seconds: number;
  /** Of this process, not of the S3 server. */
  readonly cpuSeconds: number;
}

const NOTHING: Tally = {
  get: 0,
  open: 0,
  list: 0,
  create: 0,
  delete: 0,
  prove: 0,
  mayWrite: 0,
  written: 0,
  read: 0,
};

class CountedStore extends InterceptedStore {
  readonly #tally: Tally;

  constructor(inner: ObjectStore, tally: Tally) {
    super(inner, async ({ kind }, run) => {
      tally[kind] += 1;
      const result = await run();
      if (Buffer.isBuffer(result)) tally.read += result.length;
      return result;
    });
    this.#tally = tally;
  }

  override create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    this.#tally.written += bytes.length;
    return super.create(key, bytes);
  }
}

export async function benchSigning({ folder, say }: BenchOptions): Promise<Section> {
  const s3 = testService("s3");
  say("signing: publishing the first session");
  const signed = await signedStore(folder, SESSIONS);
  const measured = new Map<string, Cost[][]>();
  for (const entries of SIZES) {
    const copies = [folderPlace(join(folder, `store-${entries}`))];
    if (s3 !== null) copies.push(s3Place(s3.env));
    say(`signing: a log of ${entries} entries`);
    await growTo(signed, entries, copies);
    for (const place of copies) {
      say(`signing: ${place.name}, ${entries} entries`);
      const store = await place.open();
      const costs = await costsOf(store, signed);
      await store.close();
      measured.set(place.name, [...(measured.get(place.name) ?? []), costs]);
    }
  }
  s3?.stop();
  return sectionOf(measured, await sumsOf(signed));
}

/** Runs everything once on the store. */
async function costsOf(inner: ObjectStore, { market, keys: both }: SignedStore): Promise<Cost[]> {
  const tally = { ...NOTHING };
  const store = new CountedStore(inner, tally);
  const costs: Cost[] = [];
  const measure = async (
    action: Cost["action"],
    [keys, logKeys]: readonly [Keys, LogKeys],
    run: (logKeys: LogKeys) => Promise<unknown>,
  ): Promise<void> => {
    Object.assign(tally, NOTHING);
    const requests = sent.requests;
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    await run(logKeys);
    const seconds = (performance.now() - startedAt) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const cpuSeconds = (user + system) / 1e6;
    costs.push({
      action,
      keys,
      ...tally,
      requests: sent.requests - requests,
      seconds,
      cpuSeconds,
    });
  };
  const [none, sign, verify] = [
    ["none", NO_KEYS],
    ["--sign-key", { ...both, verifyKeys: null }],
    ["--sign-key --verify-key", both],
  ] as const;
  const publish = (at: number) => (keys: LogKeys) =>
    publishQuotes(store, market, FIRST_SESSION + at, keys);
  const backTo = (at: number, clock: Clock) => (keys: LogKeys) =>
    rollBack(store, sessionKey(FIRST_SESSION + at), "bench", clock, keys);
  const pruneOld = (clock: Clock) => (keys: LogKeys) => prune(store, 0, false, clock, keys);

  // A rollback reads the entries back to the session before its own. The long log is older: of the first session.
  await measure("publish", sign, publish(2));
  await measure("publish", verify, publish(3));
  const second = { now: () => Date.parse(instantIn(FIRST_SESSION + 3)) };
  await measure("rollback", verify, backTo(2, second));
  await measure("rollback", sign, backTo(3, second));
  await measure("prune", verify, pruneOld(second));
  // With the prune behind a head, all publishes begin from an end of one entry.
  await appendRollbacks(inner, 1, 1_000, both);
  await measure("publish", none, publish(4));
  const third = { now: () => Date.parse(instantIn(FIRST_SESSION + 4)) };
  await measure("rollback", none, backTo(3, third));
  await measure("prune", none, pruneOld(third));
  return costs;
}

/** The files that a snapshot has for `check`, and their bytes. */
async function sumsOf({ memory }: SignedStore): Promise<string> {
  const { manifest } = await findSnapshot(memory, "head");
  const paths = new Set<string>(TIER_NAMES.map((tier) => FILES.sums(tier)));
  const files = manifest.files.filter(({ path }) => paths.has(path));
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return `${files.length} of the creates of a publish are SHA256SUMS, ${bytes.toLocaleString("en")} bytes together`;
}

function sectionOf(measured: ReadonlyMap<string, readonly Cost[][]>, sums: string): Section {
  const rows: string[][] = [];
  const targets: Target[] = [];
  for (const [place, bySize] of measured) {
    let isConstant = true;
    for (const action of ACTIONS) {
      for (const keys of KEYS) {
        const costs = bySize.flatMap((all) =>
          all.filter((cost) => cost.action === action && cost.keys === keys),
        );
        if (costs.length === 0) continue;
        const cell = (of: (cost: Cost) => string | number): string =>
          grown(costs.map((cost) => String(of(cost))));
        rows.push([
          place,
          action,
          keys,
          cell(({ create }) => create),
          cell(({ get }) => get),
          cell(({ list }) => list),
          cell(({ delete: removed }) => removed),
          cell(({ written }) => (written / 1e6).toFixed(3)),
          cell(({ read }) => (read / 1e6).toFixed(3)),
          place === "S3" ? cell(({ requests }) => requests) : "",
          cell(({ seconds }) => seconds.toFixed(2)),
          cell(({ cpuSeconds }) => cpuSeconds.toFixed(2)),
        ]);
        if (action !== "prune") {
          isConstant &&= costs.every(({ get }) => get === costs[0]?.get);
        }
      }
    }
    targets.push({
      text: `${place}: a publish and a rollback read as many objects, however long the log is`,
      met: isConstant,
      figure: isConstant ? "as many" : "more",
    });
  }
  const sizes = SIZES.map((size) => size.toLocaleString("en")).join(" and ");
  return {
    title: "Signing",
    columns: [
      "store",
      "run",
      "keys",
      "creates",
      "gets",
      "lists",
      "deletes",
      "MB written",
      "MB read",
      "HTTP requests",
      "seconds",
      "processor s",
    ],
    rows,
    notes: [
      `${CONTRACTS} contracts x 5 years, on logs of ${sizes} entries: with an arrow where they differ. ` +
        "One process; each run once. The processor time is this process's, not the S3 server's.",
      `${sums}.`,
    ],
    targets,
    figures: {},
  };
}
