/** Random histories of a store: levels, catalogs, carry limits, segments, rollbacks, prunes, restatements, upgrades. */
import { fc } from "@fast-check/vitest";
import { prune } from "../../src/desk/prune.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import type { CatalogRow } from "../cli/small-market.ts";
import { ANY_TIME } from "../store/log-entries.ts";
import type { GivenRow } from "./given-rows.ts";
import { lastDayOf } from "./naive-series.ts";
import { indexOf, utcOf } from "./raw-markets.ts";
import { PLAIN, SeriesStore, type SeriesSnapshot } from "./series-store.ts";

const FIRST = indexOf("2026-11-21T00:00:00.000Z");
const IDS = ["a", "b", "c", "d", "e"];
const SEGMENTS = ["One", "Two", "Three"];
/** Sessions before the one that is published, some of them where a carry limit or Starter's depth ends. */
const BACK = [0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 12, 90, 91, 92, 95, 100, 140, 181, 200, 400];
const PRICES = ["1", "1.1", "2", "2.5", "0.37", "19.999999", "400"];
const TEXTS = ["", "", "", "", "New unit"];

/** A change of a level: of a row that the head has, or for a session that may have none. */
const change = fc.record({
  /** Chooses the row; null: no row. */
  row: fc.option(fc.nat(), { freq: 2 }),
  contract: fc.nat(),
  back: fc.constantFrom(...BACK),
  /** Null: withdrawn. */
  usd: fc.constantFrom(null, ...PRICES),
  text: fc.constantFrom(...TEXTS),
});
const catalogChange = fc.record({
  kind: fc.constantFrom(
    "rename",
    "rename",
    "rename",
    "remove",
    "return",
    "add",
    "delist",
    "relist",
    "segment",
    "segment",
    "segment",
    "rename-segment",
    "cadence",
    "limit",
    "reorder",
  ),
  contract: fc.nat(),
  id: fc.constantFrom(...IDS),
  segment: fc.constantFrom(...SEGMENTS),
  /** Sessions before or after the run's. */
  session: fc.constantFrom(-6, -1, 0, 1, 4),
  cadence: fc.constantFrom("", "30", "31", "45.5", "90"),
  limit: fc.constantFrom("", "", "1", "3", "60"),
});
/** A restatement from so many days before the head's last one; null: from the base. */
const restating = fc.record({
  back: fc.constantFrom(null, null, 0, 1, 2, 3, 4, 8, 30, 100, 220),
  members: fc.boolean(),
});
const restates = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: restating },
);
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      /** Sessions after the head's; 0: a revision. */
      gap: fc.constantFrom(0, 0, 1, 1, 1, 1, 2, 3, 5, 100),
      changes: fc.array(change, { maxLength: 4 }),
      catalog: fc.array(catalogChange, { maxLength: 2 }),
      /** The contract all whose levels are withdrawn; null: none. */
      withdrawn: fc.oneof(
        { weight: 11, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.nat() },
      ),
      /** The carry limit of the run. */
      limitDays: fc.constantFrom(45, 45, 45, 45, 1, 2, 5, 70),
      /** Whether levels of 12:00 sessions come as daily closes. */
      asCloses: fc.boolean(),
      restates,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rollback" as const),
      back: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("prune" as const), days: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rerender" as const),
      restates: fc.oneof(fc.constant(null), restating),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Publish = Extract<Step, { kind: "publish" }>;
type CatalogChange = typeof catalogChange extends fc.Arbitrary<infer T> ? T : never;

/** A store that goes through random steps. What its rules refuse is no step. */
export class History extends SeriesStore {
  async go({ start, contracts, levels, steps }: RandomHistory): Promise<void> {
    if (start === null) await this.begin(contracts, levels);
    else await this.takeRelease(start);
    for (const step of steps) await this.take(step);
  }

  async begin(contracts: number, levels: readonly GivenRow[]): Promise<void> {
    const catalog = IDS.slice(0, contracts).map((id, at) => ({
      id,
      segment: SEGMENTS[at % 2] as string,
    }));
    const rows = levels.filter(({ id }) => catalog.some((row) => row.id === id));
    await this.publish({ session: FIRST, catalog, limitDays: 45 }, PLAIN, rows);
  }

  async take(step: Step): Promise<void> {
    this.clock.ms += 7_200_000;
    if (this.head === null) return;
    if (step.kind === "publish") return this.#change(this.head, step);
    try {
      await this.#command(step);
    } catch (error) {
      if (!(error instanceof ChipboardError) || error.exitCode !== 2) throw error;
    }
  }

  async #command(step: Exclude<Step, Publish>): Promise<void> {
    if (step.kind === "rollback") return this.rollBack(`head~${step.back}`);
    if (step.kind === "rerender") await this.renew(this.#restating(step.restates, "Anew"));
    else await prune(this.store, step.days, false, this.clock, NO_KEYS, ANY_TIME);
  }

  /** The head's last day is day 0 of the step. */
  #restating(
    wanted: typeof restating extends fc.Arbitrary<infer T> ? T | null : never,
    reason: string,
  ) {
    if (wanted === null) return null;
    const { back, members } = wanted;
    const from = back === null ? null : lastDayOf((this.head as SeriesSnapshot).session) - back;
    return { reason, from, members };
  }

  async #change(head: SeriesSnapshot, step: Publish): Promise<void> {
    const session = head.session + step.gap;
    const { catalog, renamed } = changedCatalog(head.catalog, step.catalog, session);
    const isRestated = step.restates !== null && step.gap > 0;
    const rows = new Map<string, GivenRow>();
    for (const { row, contract, back, usd, text } of step.changes) {
      const stands = row === null ? undefined : head.levels[row % head.levels.length];
      const listed = head.catalog[contract % head.catalog.length] as CatalogRow;
      const old = stands?.["contract_id"] ?? listed.id;
      const id = renamed.get(old) ?? old;
      const at = stands === undefined ? session - back : indexOf(stands["session_utc"] as string);
      const isListed = catalog.some((item) => item.id === id);
      if (!isListed || (usd === null && stands === undefined)) continue;
      // A restatement is no revision, so it changes no level.
      if (isRestated && (stands !== undefined || at <= head.session)) continue;
      rows.set(`${id} ${at}`, { id, session: at, usd, text: usd === null ? "" : text });
    }
    const { limitDays, asCloses, withdrawn } = step;
    if (withdrawn !== null && !isRestated) {
      const { id: old } = head.catalog[withdrawn % head.catalog.length] as CatalogRow;
      const id = renamed.get(old) ?? old;
      const isListed = catalog.some((item) => item.id === id);
      for (const { session: at } of (isListed && head.ledger.get(old)) || []) {
        rows.set(`${id} ${at}`, { id, session: at, usd: null, text: "" });
      }
    }
    const restates = isRestated ? this.#restating(step.restates, "Wrong closes") : null;
    await this.publish({ session, catalog, limitDays }, { asCloses, renamed, restates }, [
      ...rows.values(),
    ]);
  }
}

/** The catalog with the changes, as far as they are some. */
function changedCatalog(
  catalog: readonly CatalogRow[],
  changes: readonly CatalogChange[],
  session: number,
): { catalog: readonly CatalogRow[]; renamed: ReadonlyMap<string, string> } {
  let rows = catalog;
  const renamed = new Map<string, string>();
  for (const wanted of changes) {
    const { kind, contract, id, segment } = wanted;
    const chosen = rows[contract % rows.length] as CatalogRow;
    const others = rows.filter((row) => row !== chosen);
    const hasId = (wantedId: string): boolean =>
      renamed.has(wantedId) || [...rows, ...catalog].some((row) => row.id === wantedId);
    const replace = (fields: Partial<CatalogRow>): void => {
      rows = rows.map((row) => (row === chosen ? { ...row, ...fields } : row));
    };
    const gone = IDS[contract % IDS.length] as string;
    const isNew = !catalog.some((row) => row.id === chosen.id);
    if (kind === "rename" && !hasId(id) && !isNew) {
      renamed.set(chosen.id, id);
      replace({ id });
    } else if (kind === "return" && !hasId(id) && !hasId(gone) && gone !== id) {
      renamed.set(gone, id);
      rows = [...rows, { id, segment }];
    } else if (kind === "add" && !hasId(id)) {
      rows = [{ id, segment }, ...rows];
    } else if (kind === "remove" && others.length > 0) {
      rows = others;
    } else if (kind === "delist") {
      replace({ delisted_on: utcOf(session + wanted.session).slice(0, 10) });
    } else if (kind === "relist") {
      rows = rows.map((row) => ({ ...row, delisted_on: "" }));
    } else if (kind === "segment") {
      replace({ segment });
    } else if (kind === "rename-segment") {
      rows = rows.map((row) => (row.segment === chosen.segment ? { ...row, segment } : row));
    } else if (kind === "cadence") {
      replace({ cadence_days: wanted.cadence });
    } else if (kind === "limit") {
      replace({ max_carry_days: wanted.limit });
    } else if (kind === "reorder") {
      rows = [...others, chosen];
    }
  }
  // A contract that is renamed and taken out has left under the id that it had.
  for (const [old, id] of renamed) if (!rows.some((row) => row.id === id)) renamed.delete(old);
  return { catalog: rows, renamed };
}

/** Histories of a store, which each begin a `History`. */
export const histories = fc.record({
  /** The store of a release; null: an empty one. */
  start: fc.constantFrom(null, null, null, null, "0.2.0", "0.3.0"),
  contracts: fc.integer({ min: 2, max: 4 }),
  levels: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...IDS),
      session: fc.constantFrom(...BACK).map((back) => FIRST - back),
      usd: fc.constantFrom(...PRICES),
      text: fc.constantFrom(...TEXTS),
    }),
    { minLength: 4, maxLength: 12, selector: ({ id, session }) => `${id} ${session}` },
  ),
  steps: fc.array(step, { minLength: 5, maxLength: 12 }),
});

type RandomHistory = typeof histories extends fc.Arbitrary<infer T> ? T : never;
