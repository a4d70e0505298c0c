/**
 * The ledger as it is stored: one part a calendar month, named by month and content, so that every
 * month which did not change is shared by all later snapshots. How the levels are cut into parts
 * depends on nothing but the levels: the same ledger gives the same parts, however it came about.
 *
 * A part is NDJSON. After a header line, one line a contract, sorted by id:
 *
 *   {"ledger":1,"month":"2026-11"}
 *   {"id":"ddr5-16gb-spot","at":[0,1,2],"usd":[12.5,12.6,12.6],"basis":"rra","as_of":{"2":"2026-11-01"}}
 *
 * `at` counts sessions from the first of the month; `basis` has a letter a level (reported,
 * assessed, estimated) and is left out where all are reported; `as_of` names, by position, those
 * that are not the session's date; `notes` likewise a level's own source, address and break.
 */
import { z } from "zod";
import { DamageError } from "../errors.ts";
import { microsOf } from "../market/decimal.ts";
import { LevelSeriesBuilder } from "../market/level-series-builder.ts";
import { BASES, type LevelNotes, type LevelSeries } from "../market/level-series.ts";
import { dateText, dayOf, parseDate } from "../market/session.ts";
import { ByteText } from "../payload/byte-text.ts";
import { parseLedgerPartKey } from "../store/paths.ts";
import { monthEnd, monthStart, type Ledger } from "./ledger.ts";

const BASIS_LETTERS = BASES.map((basis) => basis.charAt(0)).join("");

const noteSchema = z.object({
  source: z.string().optional(),
  source_url: z.string().optional(),
  break: z.string().optional(),
});

/** An array of numbers, checked in one go: a schema's own loop takes ten times as long. */
const numbers = (isFit: (item: unknown) => boolean) =>
  z.custom<readonly number[]>((value) => Array.isArray(value) && value.every(isFit));

const lineSchema = z.object({
  id: z.string(),
  at: numbers((item) => Number.isSafeInteger(item) && (item as number) >= 0),
  usd: numbers((item) => Number.isFinite(item) && (item as number) > 0),
  basis: z.string().optional(),
  as_of: z.record(z.string(), z.iso.date()).optional(),
  notes: z.record(z.string(), noteSchema).optional(),
});
type Line = z.infer<typeof lineSchema>;

/** The bytes of one month's part. */
export function encodePart(ledger: Ledger, month: string): Buffer {
  part.text(`${JSON.stringify({ ledger: 1, month })}\n`);
  for (const id of [...ledger.keys()].sort()) {
    addContract(id, ledger.get(id) as LevelSeries, month);
  }
  return part.take();
}

/** What is being put together; nothing waits in between, so one is enough. */
const part = new ByteText();
const COMMA = Buffer.from(",");

/** A contract's line, where it has levels of the month. */
function addContract(id: string, series: LevelSeries, month: string): void {
  const first = monthStart(month);
  const from = series.indexAt(first - 1) + 1;
  const to = series.indexAt(monthEnd(month) - 1) + 1;
  if (from === to) return;
  part.text(`{"id":${JSON.stringify(id)},"at":[`);
  for (let index = from; index < to; index += 1) {
    if (index > from) part.piece(COMMA);
    part.whole((series.sessions[index] as number) - first);
  }
  part.text('],"usd":[');
  for (let index = from; index < to; index += 1) {
    if (index > from) part.piece(COMMA);
    part.micros(series.usd[index] as number);
  }
  const more = JSON.stringify(rarities(series, from, to)).slice(1);
  part.text(`]${more === "}" ? "" : ","}${more}\n`);
}

/** What few lines have. */
function rarities(series: LevelSeries, from: number, to: number): Omit<Line, "id" | "at" | "usd"> {
  const { columns, sessions, notes } = series;
  let basis = "";
  const asOf: Record<string, string> = {};
  const named: Record<string, z.infer<typeof noteSchema>> = {};
  if (columns.basis === null && columns.asOf === null && notes.size === 0) return {};
  for (let index = from; index < to; index += 1) {
    const session = sessions[index] as number;
    const position = String(index - from);
    basis += BASIS_LETTERS[series.basisAt(index)];
    const day = series.asOfAt(index);
    if (day !== dayOf(session)) asOf[position] = dateText(day);
    const note = notes.get(session);
    if (note !== undefined) named[position] = encodeNote(note);
  }
  return {
    ...(/[^r]/.test(basis) ? { basis } : {}),
    ...(Object.keys(asOf).length > 0 ? { as_of: asOf } : {}),
    ...(Object.keys(named).length > 0 ? { notes: named } : {}),
  };
}

/**
 * Adds the levels of a part to the builders, by contract. Parts must come in the order of their
 * months. Throws DamageError, naming `key`, where the bytes are no part.
 */
export function decodePart(
  bytes: Buffer,
  key: string,
  builders: Map<string, LevelSeriesBuilder>,
): void {
  const month = parseLedgerPartKey(key)?.month;
  const [header, ...lines] = bytes.toString("utf8").split("\n");
  if (
    month === undefined ||
    header !== JSON.stringify({ ledger: 1, month }) ||
    lines.pop() !== ""
  ) {
    throw new DamageError(`${key} is not a ledger part this version can read`);
  }
  const first = monthStart(month);
  for (const text of lines) {
    let line: Line;
    try {
      line = lineSchema.parse(JSON.parse(text));
    } catch (cause) {
      throw new DamageError(`${key} holds a line that is no contract's levels`, [], { cause });
    }
    let builder = builders.get(line.id);
    if (builder === undefined) builders.set(line.id, (builder = new LevelSeriesBuilder()));
    addLine(line, first, builder);
  }
}

function addLine(line: Line, first: number, builder: LevelSeriesBuilder): void {
  const { at, usd, basis, as_of, notes } = line;
  for (let position = 0; position < at.length; position += 1) {
    const session = first + (at[position] as number);
    const asOf = as_of?.[position];
    builder.push(
      session,
      microsOf(usd[position] as number),
      asOf === undefined ? dayOf(session) : (parseDate(asOf) as number),
      basis === undefined ? 0 : BASIS_LETTERS.indexOf(basis.charAt(position)),
    );
    const note = notes?.[position];
    if (note !== undefined) {
      builder.note(session, {
        source: note.source ?? null,
        sourceUrl: note.source_url ?? null,
        breakReason: note.break ?? null,
      });
    }
  }
}

const encodeNote = (note: LevelNotes): z.infer<typeof noteSchema> => ({
  ...(note.source === null ? {} : { source: note.source }),
  ...(note.sourceUrl === null ? {} : { source_url: note.sourceUrl }),
  ...(note.breakReason === null ? {} : { break: note.breakReason }),
});
