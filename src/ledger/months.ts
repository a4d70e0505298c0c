/**
 * The ledger as it is stored: one file for each calendar month, named by month and content, so that
 * later snapshots share every month that did not change. The same ledger always gives the same files,
 * however it came about.
 *
 * A ledger month is NDJSON. After a header line it has one line for each contract, sorted by id:
 *
 *   {"ledger":1,"month":"2026-11"}
 *   {"id":"ddr5-16gb-spot","at":[0,1,2],"usd":[12.5,12.6,12.6],"basis":"rra","as_of":{"2":"2026-11-01"}}
 *
 * `at` counts sessions from the first of the month. `basis` has one letter for each level (reported,
 * assessed, estimated) and is left out if all are reported. `as_of` has, by position, the dates that
 * are not the session's. `low`, `high` and `inputs` have a number or null for each level, and are left out
 * if all are null. `notes` has, by position, a level's own source, address, break and rationale, and the
 * terms that the break changed, as they were before it.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { PRICE_TYPES, TERMS, type EarlierTerms } from "../market/contract.ts";
import { microsOf, MICROS_PER_UNIT } from "../market/decimal.ts";
import { BASES, dateOf, Levels, NOTES, Series, type Basis, type Level } from "../market/series.ts";
import {
  dateText,
  dayOf,
  firstDayOf,
  lastDayOf,
  monthOf,
  parseDate,
  SESSIONS_PER_DAY,
  type Month,
  type Session,
} from "../market/session.ts";
import type { LedgerMonth } from "../snapshot/manifest.ts";
import { readVerified } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { parseLedgerMonthKey } from "../store/paths.ts";
import type { Ledger } from "./ledger.ts";

const PARTS_AT_ONCE = 16;

const BASIS_LETTERS = BASES.map((basis) => basis.charAt(0)).join("");

const termsSchema = z
  .object({
    unit: z.string(),
    capacity_gb: z.number().positive(),
    price_type: z.enum(PRICE_TYPES),
  })
  .partial();

const noteSchema = z.object({
  source: z.string().optional(),
  source_url: z.string().optional(),
  break: z.string().optional(),
  rationale: z.string().optional(),
  terms_before: termsSchema.optional(),
});

/** An array of numbers, checked by one function: zod's own loop takes ten times as long. */
const numbers = (isFit: (item: unknown) => boolean) =>
  z.custom<readonly number[]>((value) => Array.isArray(value) && value.every(isFit));

const figures = z.custom<readonly (number | null)[]>(
  (value) =>
    Array.isArray(value) &&
    value.every((item) => item === null || (Number.isFinite(item) && item > 0)),
);

const lineSchema = z.object({
  id: z.string(),
  at: numbers((item) => Number.isSafeInteger(item) && (item as number) >= 0),
  usd: numbers((item) => Number.isFinite(item) && (item as number) > 0),
  basis: z.string().optional(),
  low: figures.optional(),
  high: figures.optional(),
  inputs: figures.optional(),
  as_of: z.record(z.string(), z.iso.date()).optional(),
  notes: z.record(z.string(), noteSchema).optional(),
});
type Line = z.infer<typeof lineSchema>;

type Field = keyof typeof NOTES;
const NOTED = Object.entries(NOTES) as [Field, (typeof NOTES)[Field]][];

/** The figures of a level with their names in a line, and how many of a level's units are one there. */
const FIGURES = [
  ["lowUsd", "low", MICROS_PER_UNIT],
  ["highUsd", "high", MICROS_PER_UNIT],
  ["inputs", "inputs", 1],
] as const;

/** The months (`2026-11`) from the ledger's first level to its last one, ascending. */
export function monthsOf(ledger: Ledger): string[] {
  const series = [...ledger.values()];
  const last = Math.max(
    ...series.map(({ levels }) => (levels.at(levels.length - 1) as Level).session),
  );
  const months: Month[] = [];
  let session = Math.min(...series.map(({ levels }) => (levels.at(0) as Level).session));
  for (; session <= last; session = monthEnd(months.at(-1) as string))
    months.push(monthOf(dayOf(session)));
  return months;
}

/** The file of one month; null if the ledger has no level in it. */
export function encodeMonth(ledger: Ledger, month: string): Buffer | null {
  const from = monthStart(month);
  const to = monthEnd(month);
  const lines = [...ledger.keys()].sort().flatMap((id) => {
    const levels = (ledger.get(id) as Series).between(from, to);
    return levels.length === 0 ? [] : [`${JSON.stringify(lineOf(id, levels, from))}\n`];
  });
  return lines.length === 0 ? null : Buffer.from(`${headerOf(month)}\n${lines.join("")}`);
}

/**
 * The ledger that a manifest names. Throws DamageError if a month is missing, is not a ledger month, or
 * does not have the manifest's digest.
 */
export async function loadLedger(
  store: ObjectStore,
  entries: readonly LedgerMonth[],
): Promise<Ledger> {
  const ascending = entries.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const levels = new Map<string, Levels>();
  for (let from = 0; from < ascending.length; from += PARTS_AT_ONCE) {
    const batch = ascending.slice(from, from + PARTS_AT_ONCE);
    const months = await Promise.all(
      batch.map(({ key, sha256, bytes }) => readVerified(store, key, sha256, bytes)),
    );
    months.forEach((bytes, at) => decodeMonth(bytes, (batch[at] as LedgerMonth).key, levels));
  }
  return new Map([...levels].map(([id, ofContract]) => [id, new Series(ofContract)]));
}

/**
 * Adds a month's levels to the levels of its contracts. Call it in the order of the months. Throws
 * DamageError, which names `key`, if the bytes are not a ledger month.
 */
export function decodeMonth(bytes: Buffer, key: string, levels: Map<string, Levels>): void {
  const month = parseLedgerMonthKey(key)?.month;
  const [header, ...lines] = bytes.toString("utf8").split("\n");
  if (month === undefined || header !== headerOf(month) || lines.pop() !== "") {
    throw new DamageError(`${key} is not a ledger part that this version can read`);
  }
  const first = monthStart(month);
  for (const text of lines) {
    let line: Line;
    try {
      line = lineSchema.parse(JSON.parse(text));
    } catch (cause) {
      throw new DamageError(`${key} has a line that does not hold the levels of a contract`, [], {
        cause,
      });
    }
    const ofContract = levels.get(line.id) ?? new Levels();
    levels.set(line.id, ofContract);
    const figured = FIGURES.filter(([, name]) => line[name] !== undefined);
    // Most lines have an id, sessions and prices alone.
    const isPlain = Object.keys(line).length === 3;
    for (const [position, at] of line.at.entries()) {
      if (isPlain) ofContract.add(first + at, microsOf(line.usd[position] as number));
      else ofContract.push(levelOf(line, figured, position, first));
    }
  }
}

const headerOf = (month: string): string => JSON.stringify({ ledger: 1, month });

/** The first session of a month, 00:00 UTC of its first day. */
const monthStart = (month: Month): Session => firstDayOf(month) * SESSIONS_PER_DAY;

/** The first session of the month after. */
const monthEnd = (month: Month): Session => (lastDayOf(month) + 1) * SESSIONS_PER_DAY;

function lineOf(id: string, levels: readonly Level[], first: Session): Line {
  const line: Line = {
    id,
    at: levels.map(({ session }) => session - first),
    usd: levels.map(({ usd }) => usd / MICROS_PER_UNIT),
  };
  // Most levels have a session and a price alone.
  if (levels.every((level) => Object.keys(level).length === 2)) return line;
  const basis = levels.map(({ basis = "reported" }) => basis.charAt(0)).join("");
  if (/[^r]/.test(basis)) line.basis = basis;
  for (const [field, name, units] of FIGURES) {
    if (levels.every(({ [field]: value }) => value === undefined)) continue;
    line[name] = levels.map(({ [field]: value }) => (value === undefined ? null : value / units));
  }
  const asOf: typeof line.as_of = {};
  const notes: typeof line.notes = {};
  levels.forEach((level, position) => {
    const date = dateOf(level);
    if (date !== dayOf(level.session)) asOf[position] = dateText(date);
    const note: z.infer<typeof noteSchema> = {};
    for (const [field, name] of NOTED) {
      if (level[field] !== undefined) note[name] = level[field];
    }
    if (level.termsBefore !== undefined) note.terms_before = storedTerms(level.termsBefore);
    if (Object.keys(note).length > 0) notes[position] = note;
  });
  if (Object.keys(asOf).length > 0) line.as_of = asOf;
  if (Object.keys(notes).length > 0) line.notes = notes;
  return line;
}

/** `figured` lists the FIGURES that the line has. */
function levelOf(
  line: Line,
  figured: readonly (typeof FIGURES)[number][],
  position: number,
  first: Session,
): Level {
  const basis = BASES[BASIS_LETTERS.indexOf(line.basis?.[position] ?? "r")] as Basis;
  const asOf = line.as_of?.[position];
  const note = line.notes?.[position];
  const named = NOTED.filter(([, name]) => note?.[name] !== undefined);
  return {
    session: first + (line.at[position] as number),
    usd: microsOf(line.usd[position] as number),
    ...(basis === "reported" ? {} : { basis }),
    ...(asOf === undefined ? {} : { asOf: parseDate(asOf) as number }),
    ...Object.fromEntries(
      figured.flatMap(([field, name, units]) => {
        const value = line[name]?.[position] ?? null;
        return value === null ? [] : [[field, Math.round(value * units)]];
      }),
    ),
    ...Object.fromEntries(named.map(([field, name]) => [field, note?.[name]])),
    ...(note?.terms_before === undefined ? {} : { termsBefore: termsOf(note.terms_before) }),
  };
}

type Term = keyof typeof TERMS;
const TERM_NAMES = Object.entries(TERMS) as [Term, (typeof TERMS)[Term]][];

const storedTerms = (terms: EarlierTerms): z.infer<typeof termsSchema> =>
  Object.fromEntries(
    TERM_NAMES.filter(([field]) => terms[field] !== undefined).map(([field, name]) => [
      name,
      field === "capacityGb" ? Number(terms[field]) : terms[field],
    ]),
  );

const termsOf = (stored: z.infer<typeof termsSchema>): EarlierTerms =>
  Object.fromEntries(
    TERM_NAMES.filter(([, name]) => stored[name] !== undefined).map(([field, name]) => [
      field,
      String(stored[name]),
    ]),
  );
