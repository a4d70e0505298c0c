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
import { BASES, LevelSeriesBuilder, type LevelNotes } from "../market/level-series.ts";
import { dateText, dayOf, parseDate } from "../market/session.ts";
import { parseLedgerPartKey } from "../store/paths.ts";
import { monthEnd, monthStart, type Ledger } from "./ledger.ts";

const BASIS_LETTERS = BASES.map((basis) => basis.charAt(0)).join("");

const noteSchema = z.object({
  source: z.string().optional(),
  source_url: z.string().optional(),
  break: z.string().optional(),
});

const lineSchema = z.object({
  id: z.string(),
  at: z.array(z.int().nonnegative()),
  usd: z.array(z.number().positive()),
  basis: z.string().optional(),
  as_of: z.record(z.string(), z.iso.date()).optional(),
  notes: z.record(z.string(), noteSchema).optional(),
});
type Line = z.infer<typeof lineSchema>;

/** The bytes of one month's part. */
export function encodePart(ledger: Ledger, month: string): Buffer {
  const first = monthStart(month);
  const end = monthEnd(month);
  const text = [JSON.stringify({ ledger: 1, month })];
  for (const id of [...ledger.keys()].sort()) {
    const series = ledger.get(id);
    if (series === undefined) continue;
    const from = series.indexAt(first - 1) + 1;
    const to = series.indexAt(end - 1) + 1;
    if (from === to) continue;
    const line: Line = { id, at: [], usd: [] };
    let basis = "";
    const asOf: Record<string, string> = {};
    const notes: Record<string, z.infer<typeof noteSchema>> = {};
    for (let index = from; index < to; index += 1) {
      const session = series.sessions[index] as number;
      const position = String(index - from);
      line.at.push(session - first);
      line.usd.push((series.usd[index] as number) / 1e6);
      basis += BASIS_LETTERS[series.basis[index] as number];
      const day = series.asOf[index] as number;
      if (day !== dayOf(session)) asOf[position] = dateText(day);
      const note = series.notes.get(session);
      if (note !== undefined) notes[position] = encodeNote(note);
    }
    if (/[^r]/.test(basis)) line.basis = basis;
    if (Object.keys(asOf).length > 0) line.as_of = asOf;
    if (Object.keys(notes).length > 0) line.notes = notes;
    text.push(JSON.stringify(line));
  }
  return Buffer.from(`${text.join("\n")}\n`);
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
  line.at.forEach((offset, position) => {
    const session = first + offset;
    const asOf = line.as_of?.[position];
    builder.push(
      session,
      // At most 15 digits: a double keeps them, and the rounding finds the very integer.
      Math.round((line.usd[position] as number) * 1e6),
      asOf === undefined ? dayOf(session) : (parseDate(asOf) as number),
      line.basis === undefined ? 0 : BASIS_LETTERS.indexOf(line.basis.charAt(position)),
    );
    const note = line.notes?.[position];
    if (note !== undefined) {
      builder.note(session, {
        source: note.source ?? null,
        sourceUrl: note.source_url ?? null,
        breakReason: note.break ?? null,
      });
    }
  });
}

const encodeNote = (note: LevelNotes): z.infer<typeof noteSchema> => ({
  ...(note.source === null ? {} : { source: note.source }),
  ...(note.sourceUrl === null ? {} : { source_url: note.sourceUrl }),
  ...(note.breakReason === null ? {} : { break: note.breakReason }),
});
