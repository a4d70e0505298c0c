/**
 * Since when each row of a tier's levels.csv has stood, and the rows that no longer stand, by the numbers of
 * the log's entries. Rows are compared as text with the rows of the parent's two files, and with nothing else.
 */
import { DamageError } from "../lib/errors.ts";
import { newIdsOf, type Contract } from "../market/contract.ts";

/** The records of a CSV file below its header, by contract, each with its line break. */
export type RecordTexts = ReadonlyMap<string, () => string>;

/** The records of the parent's two files. An older program's snapshot has none, and neither has a new store. */
export interface RowsBefore {
  readonly levels: RecordTexts;
  readonly superseded: RecordTexts;
  /** The contracts of the parent's catalog. */
  readonly listed: ReadonlySet<string>;
}

export const NO_ROWS_BEFORE: RowsBefore = {
  levels: new Map(),
  superseded: new Map(),
  listed: new Set(),
};

/** A row: its record without the contract's id, the numbers of entries and the line break. */
type RowText = string;

/** The rows of a snapshot that an entry of the log publishes. */
export class KnownRows {
  readonly #number: number;
  readonly #floor: string;
  /** The contracts of the catalog. */
  readonly #listed: ReadonlySet<string>;
  /** Those and the parent's, by their present ids. */
  readonly #known: ReadonlySet<string>;
  /** The parent's records, by the present ids of their contracts. */
  readonly #levels = new Map<string, TextOfId>();
  readonly #superseded = new Map<string, readonly TextOfId[]>();
  /** Of each contract compared so far, what superseded.csv gains: records without id and line break. */
  readonly #ended = new Map<string, readonly string[]>();

  /**
   * `number` is the entry's. An id that a contract of the catalog had formerly means this contract. Of
   * superseded rows, those with a session of the date `floor` or earlier are left out.
   */
  constructor(
    number: number,
    before: RowsBefore,
    catalog: readonly Pick<Contract, "id" | "formerly">[],
    floor: string,
  ) {
    this.#number = number;
    this.#floor = floor;
    this.#listed = new Set(catalog.map(({ id }) => id));
    const newIds = newIdsOf(catalog);
    const newIdOf = (id: string): string => newIds.get(id) ?? id;
    this.#known = new Set([...this.#listed, ...[...before.listed].map(newIdOf)]);
    // The ledger refuses a rename that joins two contracts with levels; both may have superseded rows.
    for (const [id, text] of before.levels) this.#levels.set(newIdOf(id), { id, text });
    for (const [id, text] of before.superseded) {
      const others = this.#superseded.get(newIdOf(id)) ?? [];
      this.#superseded.set(newIdOf(id), [...others, { id, text }]);
    }
  }

  /** The contracts that may have superseded rows, in no order. */
  get ids(): ReadonlySet<string> {
    return new Set([...this.#levels.keys(), ...this.#superseded.keys()]);
  }

  /**
   * The contract's lines of levels.csv. Its rows begin with their session and ascend by it. Throws DamageError if
   * the parent's are not CSV.
   */
  levelLines(id: string, rows: readonly RowText[]): string {
    const before = new Records(this.#levels.get(id) ?? NO_TEXT);
    const ended: string[] = [];
    let lines = "";
    for (const row of rows) {
      const session = sessionOf(row);
      while (before.isBefore(session)) ended.push(before.take());
      lines += `${id},${row},${before.takeNumberOf(row) ?? this.#number}${LINE_BREAK}`;
    }
    ended.push(...before.takeAll());
    const isDeep = (record: string): boolean => dateOf(record) > this.#floor;
    const hasLeft = !this.#listed.has(id);
    this.#ended.set(
      id,
      ended.filter(isDeep).map((record) => `${record},${this.#number},${hasLeft}`),
    );
    return lines;
  }

  /** The contract's lines of superseded.csv. `rowsOf` makes its rows of levels.csv. Throws DamageError. */
  supersededLines(id: string, rowsOf: () => readonly RowText[]): string {
    if (!this.#ended.has(id)) this.levelLines(id, rowsOf());
    const ended = this.#ended.get(id) as readonly string[];
    const hadLeft = !this.#known.has(id);
    const before = this.#superseded.get(id) ?? [];
    const kept = before.map((text) => {
      const records = new Records(text);
      while (records.isUpTo(this.#floor)) records.take();
      return records;
    });
    // Most contracts have the rows from before, without a few of the first ones.
    if (ended.length === 0 && before.length <= 1 && before.every((text) => text.id === id)) {
      const rest = kept.map((records) => records.rest).join("");
      if (rest === "" || HAS_LEFT.test(rest.trimEnd())) return rest;
    }
    return [
      ...withLeft(
        kept.flatMap((records) => records.takeAll()),
        hadLeft,
      ),
      ...ended,
    ]
      .sort(compareSuperseded)
      .map((record) => `${id},${record}${LINE_BREAK}`)
      .join("");
  }
}

/** A contract's records under the id that it had in the parent. */
interface TextOfId {
  readonly id: string;
  readonly text: () => string;
}

const NO_TEXT: TextOfId = { id: "", text: () => "" };

const SESSION_CHARACTERS = "2026-11-21T00:00:00.000Z".length;
const DATE_CHARACTERS = "2026-11-21".length;

const sessionOf = (record: string): string => record.slice(0, SESSION_CHARACTERS);
const dateOf = (record: string): string => record.slice(0, DATE_CHARACTERS);

/** The last field of a superseded record. */
const HAS_LEFT = /,(?:true|false)$/;

/**
 * Superseded records with this field. An older program wrote none: if the contract was out of its catalog, the rows that
 * ended last ended because it had left.
 */
function withLeft(records: readonly string[], hadLeft: boolean): readonly string[] {
  const endOf = (record: string): number => Number(record.slice(record.lastIndexOf(",") + 1));
  const older = records.filter((record) => !HAS_LEFT.test(record));
  const last = older.reduce((end, record) => Math.max(end, endOf(record)), 0);
  return records.map((record) =>
    HAS_LEFT.test(record) ? record : `${record},${hadLeft && endOf(record) === last}`,
  );
}

/** By session, then by the entry that brought them: the last number but one, before the last field. */
function compareSuperseded(a: string, b: string): number {
  const [sessionA, sessionB] = [sessionOf(a), sessionOf(b)];
  if (sessionA !== sessionB) return sessionA < sessionB ? -1 : 1;
  return Number(a.split(",").at(-3)) - Number(b.split(",").at(-3));
}

/** A CSV record with its line break; quoted fields may have line breaks of their own. */
const RECORD = /[^"\n]*(?:"[^"]*"[^"\n]*)*\n/y;
const LINE_BREAK = "\r\n";

/** A contract's records, to be taken one after another, without id and line break. */
class Records {
  readonly #id: string;
  readonly #text: string;
  #at = 0;

  constructor({ id, text }: TextOfId) {
    this.#id = id;
    this.#text = text();
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** The text of those that are not taken yet, with ids and line breaks. */
  get rest(): string {
    return this.#text.slice(this.#at);
  }

  /** Whether the next one is of an earlier session. */
  isBefore(session: string): boolean {
    return !this.isAtEnd && this.#start(SESSION_CHARACTERS) < session;
  }

  /** Whether the session of the next one is of this date or an earlier one. */
  isUpTo(date: string): boolean {
    return !this.isAtEnd && this.#start(DATE_CHARACTERS) <= date;
  }

  #start(characters: number): string {
    return this.#text.slice(this.#rowAt, this.#rowAt + characters);
  }

  /** Where the row of the next one begins: after the id and a comma. */
  get #rowAt(): number {
    return this.#at + this.#id.length + ",".length;
  }

  /** Takes the next one if it is the row and a number, which it returns. */
  takeNumberOf(row: RowText): string | null {
    const numberAt = this.#rowAt + row.length + ",".length;
    if (!this.#text.startsWith(row, this.#rowAt) || this.#text[numberAt - 1] !== ",") return null;
    const end = this.#text.indexOf(LINE_BREAK, numberAt);
    if (end < 0) return null;
    this.#at = end + LINE_BREAK.length;
    return this.#text.slice(numberAt, end);
  }

  /** Throws DamageError if there is no whole record. */
  take(): string {
    const rowAt = this.#rowAt;
    RECORD.lastIndex = rowAt;
    if (!RECORD.test(this.#text)) {
      const what = "a record in levels.csv or superseded.csv of the head is not CSV";
      throw new DamageError(`${this.#id}: ${what}; roll back to another snapshot`);
    }
    this.#at = RECORD.lastIndex;
    return this.#text.slice(rowAt, this.#at - LINE_BREAK.length);
  }

  takeAll(): string[] {
    const records: string[] = [];
    while (!this.isAtEnd) records.push(this.take());
    return records;
  }
}
