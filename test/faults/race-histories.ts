/** What lies in a store before a race: sessions published, rolled back, and left by crashed runs. */
import { sessionStartMs } from "../../src/market/session.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { publicationKey, snapshotFileKey, FILES } from "../../src/store/paths.ts";
import { at } from "../cli/market.ts";
import { publisher, roller, type Report } from "./race-actors.ts";
import { AttendedStore } from "./crash-store.ts";

/** Sessions 0, 1 and 2 are published in every history; those after them are for the racers. */
export const sessionNumber = (n: number): number => FIRST_SESSION + n;
/** So that the racers' sessions lie in another month, and in another part of the ledger. */
const FIRST_SESSION = at("2026-11-29T12Z");

export interface History {
  readonly name: string;
  /** Makes it in an empty store. The clock is put to each session as it comes. */
  make(store: ObjectStore, clock: { ms: number; now(): number }): Promise<void>;
}

const ROLLBACKS = [null, 0, 1] as const;
const LEFTOVERS = ["nothing", "a snapshot without its publication", "half a snapshot"] as const;

/** Every rollback with every leftover. */
export const HISTORIES: readonly History[] = ROLLBACKS.flatMap((rollback) =>
  LEFTOVERS.map((leftover) => ({
    name: `${rollback === null ? "no rollback" : `a rollback to ${rollback}`}, ${leftover} left`,
    make: async (store, clock) => {
      const setTo = (n: number): number => (clock.ms = sessionStartMs(sessionNumber(n)) + 300_000);
      for (const n of [0, 1, 2]) {
        setTo(n);
        const order = { session: sessionNumber(n), variant: 0, revise: null };
        await must(publisher("before", order).run(store, clock));
      }
      if (rollback !== null) {
        const head = `head~${2 - rollback}`;
        await must(roller("before", head).run(store, clock));
      }
      if (leftover === "nothing") return;
      setTo(3);
      const number = rollback === null ? 4 : 5;
      const until =
        leftover === "half a snapshot"
          ? snapshotFileKey({ session: sessionNumber(3), revision: 1 }, FILES.report)
          : publicationKey(number);
      const crashing = new AttendedStore(store, (operation, run) =>
        operation.kind === "create" && operation.key === until
          ? Promise.reject(new Error("The run crashed here"))
          : run(),
      );
      const order = { session: sessionNumber(3), variant: 0, revise: null };
      const crashed = await publisher("before", order)
        .run(crashing, clock)
        .catch(() => null);
      if (crashed !== null) throw new Error("A run was to crash, and did not");
    },
  })),
);

async function must(report: Promise<Report>): Promise<void> {
  const { code, said } = await report;
  if (code !== 0) throw new Error(said);
}
