/** The content of a store before a race: publications, a rollback, leftovers of crashed runs. */
import { sessionStartMs } from "../../src/market/session.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { publicationKey, snapshotFileKey, FILES } from "../../src/store/paths.ts";
import { at } from "../cli/small-market.ts";
import { publisher, roller, type Report } from "./actors.ts";
import { InterceptedStore } from "../faults/crash-store.ts";

/** Every history publishes sessions 0, 1 and 2; the racers publish later ones. */
export const sessionNumber = (n: number): number => FIRST_SESSION + n;
/** The racers' sessions are then in the next month, and so in another part of the ledger. */
const FIRST_SESSION = at("2026-11-29T12Z");

export interface History {
  readonly name: string;
  /** Fills an empty store. Sets the clock to each session. */
  make(store: ObjectStore, clock: { ms: number; now(): number }): Promise<void>;
}

const ROLLBACKS = [null, 0, 1] as const;
const LEFTOVERS = ["nothing", "a snapshot without its publication", "half a snapshot"] as const;

/** Each rollback with each leftover. */
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
      const crashing = new InterceptedStore(store, (operation, run) =>
        operation.kind === "create" && operation.key === until
          ? Promise.reject(new Error("The run crashed here"))
          : run(),
      );
      const order = { session: sessionNumber(3), variant: 0, revise: null };
      const crashed = await publisher("before", order)
        .run(crashing, clock)
        .catch(() => null);
      if (crashed !== null) throw new Error("The run did not crash");
    },
  })),
);

async function must(report: Promise<Report>): Promise<void> {
  const { code, said } = await report;
  if (code !== 0) throw new Error(said);
}
