/** Stores whose sessions are noons of November 2026, and the closes of their index series. */
import { MemoryStore } from "../store/memory-store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { readHead } from "../store/log-entries.ts";
import { plainBytes } from "../store/stored-file.ts";
import {
  catalogOf,
  headJson,
  lines,
  mustPublish,
  quotesOf,
  type CatalogRow,
  type Run,
} from "./small-market.ts";

/** Every gate is open, because levels here move as no market does. */
export const OPEN: Run = {
  acceptMoves: true,
  allowSparse: true,
  maxUnchangedSessions: 99_999,
  maxGapSessions: 99_999,
};

export const publishAt = (store: ObjectStore, session: string, run: Run): Promise<string> =>
  mustPublish(store, { ...OPEN, session, ...run });

/** An empty store, and a publish of each day's levels at 12:00, from 2026-11-01 on. */
export async function storeOf(
  rows: readonly (string | CatalogRow)[],
  ...days: readonly Readonly<Record<string, number>>[]
): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const [at, levels] of days.entries()) {
    await publishAt(store, noonOf(1 + at), {
      ...(at === 0 && { catalog: catalogOf(rows) }),
      quotes: quotesOf(levels),
    });
  }
  return store;
}

export const dateOf = (day: number): string => `2026-11-${String(day).padStart(2, "0")}`;
export const noonOf = (day: number): string => `${dateOf(day)}T12Z`;

export const closeRows = (...rows: readonly string[]): string =>
  lines("id,date,close_usd", ...rows);

/** The series of an index, as the tier's payload has it. */
export const seriesOf = async (store: ObjectStore, index = "composite", tier = "pro") =>
  (await headJson(store, `${tier}/indices/${index}.json`)).series;

/** The closes of an index by their day of November, as the tier's payload has them. */
export async function closesOf(
  store: ObjectStore,
  index?: string,
  tier?: string,
): Promise<Record<string, number>> {
  const { history } = await seriesOf(store, index, tier);
  return Object.fromEntries(
    history.map((point: { date: string; close: number }) => [
      Number(point.date.slice(-2)),
      point.close,
    ]),
  );
}

/** The lines of a CSV file of the head below its header. */
export async function rowsOf(store: ObjectStore, path: string): Promise<string[]> {
  const head = await readHead(store);
  if (head === null) throw new Error("The store is empty");
  const bytes = await plainBytes(store, `sessions/${snapshotText(head)}/${path}`);
  return String(bytes).trimEnd().split("\r\n").slice(1);
}
