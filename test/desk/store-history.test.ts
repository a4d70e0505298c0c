/** Random histories of a store with crashes, compared with a small model. */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { ChipboardError } from "../../src/lib/errors.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { SESSION_MS, sessionAt, sessionKey } from "../../src/market/session.ts";
import { publish } from "../store/begun.ts";
import { readPublications } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { catalogOf, headJson, quotesOf } from "../cli/small-market.ts";
import { runs } from "../property/runs.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

type Step =
  | { kind: "publish" | "revise"; usd: number; crashAt: number | null }
  | { kind: "rollback"; back: number; crashAt: number | null }
  | { kind: "prune"; days: number; crashAt: number | null }
  | { kind: "wait"; sessions: number };

const crashAt = fc.option(fc.integer({ min: 1, max: 24 }), { freq: 2 });
/** So near to each other that no revision moves a published close by a percent, which a gate refuses. */
const usd = fc.integer({ min: 1_000, max: 1_004 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("publish" as const), usd, crashAt }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("revise" as const), usd, crashAt }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rollback" as const),
      back: fc.integer({ min: 1, max: 4 }),
      crashAt,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("prune" as const),
      days: fc.integer({ min: 0, max: 2 }),
      crashAt,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("wait" as const),
      sessions: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

class Crash extends Error {}

/** The store, until its `at`th create or delete: that one and all after it fail. */
function crashing(store: MemoryStore, at: number | null): ObjectStore {
  let count = 0;
  return new Proxy(store, {
    get(target, name) {
      if (name === "location") return target.location;
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      if (name !== "create" && name !== "delete") return method.bind(target);
      return async (...args: unknown[]) => {
        count += 1;
        if (at !== null && count >= at) throw new Crash();
        return method.apply(target, args);
      };
    },
  });
}

/** The log as it must be, and the level of each snapshot that was ever published. */
interface Model {
  log: string[];
  usd: Map<string, number>;
}

const CATALOG = catalogOf(["a", "b"]);

test.prop([fc.array(step, { minLength: 4, maxLength: 14 })], runs(15))(
  "the head is correct, the log has no gap, and all kept snapshots are complete",
  async (steps) => {
    const clock = { ms: Date.parse("2026-11-20T00:05:00Z"), now: () => clock.ms };
    const store = new MemoryStore();
    const model: Model = { log: [], usd: new Map() };
    for (const item of [{ kind: "publish", usd: 1_002, crashAt: null } as Step, ...steps]) {
      clock.ms += 1_000;
      if (item.kind === "wait") {
        clock.ms += item.sessions * SESSION_MS;
        continue;
      }
      const ended = await attempt(item, crashing(store, item.crashAt), clock);
      const log = (await readPublications(store)).map(snapshotText);
      // An entry is never changed or lost, and no step appends more than one.
      expect(log.slice(0, model.log.length)).toEqual(model.log);
      const appended = log.slice(model.log.length);
      expect(appended.length).toBe(ended.appends);
      const [name] = appended;
      if (name !== undefined && (item.kind === "publish" || item.kind === "revise")) {
        expect(model.usd.has(name)).toBe(false);
        model.usd.set(name, item.usd);
      }
      model.log = log;
      const head = log.at(-1) as string;
      expect((await headJson(store, "pro/contracts/a.json")).spot_usd).toBe(model.usd.get(head));
      if (ended.crashed && item.kind === "prune") {
        // Half a folder may remain; the next run completes it.
        clock.ms += 1_000;
        await prune(store, item.days, false, clock);
      }
      const { damages, pruned } = await verifySnapshots(store, null);
      expect(damages).toEqual([]);
      const kept = [head, log.at(-2)];
      expect(pruned.filter((text) => kept.includes(text))).toEqual([]);
    }
  },
);

async function attempt(
  item: Exclude<Step, { kind: "wait" }>,
  store: ObjectStore,
  clock: { now(): number },
): Promise<{ appends: 0 | 1; crashed: boolean }> {
  try {
    if (item.kind === "prune") await prune(store, item.days, false, clock);
    else if (item.kind === "rollback") {
      const { outcome } = await rollBack(store, `head~${item.back}`, "back", clock);
      return { appends: outcome === "rolled_back" ? 1 : 0, crashed: false };
    } else {
      const { outcome } = await publishLevel(item, store, clock);
      return { appends: outcome === "published" ? 1 : 0, crashed: false };
    }
    return { appends: 0, crashed: false };
  } catch (error) {
    if (error instanceof Crash) return { appends: 0, crashed: true };
    // Refused: a session published or withdrawn already (4), a reference to nothing or gone (2).
    if (error instanceof ChipboardError && [2, 4].includes(error.exitCode)) {
      return { appends: 0, crashed: false };
    }
    throw error;
  }
}

const publishLevel = (
  item: { kind: "publish" | "revise"; usd: number },
  store: ObjectStore,
  clock: { now(): number },
) => {
  const session = sessionAt(clock.now());
  const source = (name: string, text: string) => ({
    name,
    format: "csv" as const,
    open: async function* () {
      yield Buffer.from(text);
    },
  });
  return publish(
    {
      ...USUAL_REQUEST,
      catalog: source("catalog.csv", CATALOG),
      quotes: [source(`${sessionKey(session)}.csv`, quotesOf({ a: item.usd, b: 5 }))],
      session,
      revise: item.kind === "revise" ? "again" : null,
      gates: {
        maxMoveMicros: 50_000_000,
        maxIndexMoveMicros: 25_000_000,
        maxBoardMoveMicros: 15_000_000,
        minCoverageMicros: 80_000_000,
        maxUnchangedSessions: 1_000,
        maxGapSessions: 1_000_000,
        maxCarryDays: 45,
        acceptMoves: false,
        allowSparse: false,
      },
    },
    store,
    clock,
    () => {},
  );
};
