/** Reads a file of levels by a map, or by a proposed one, to show what a run would read. Writes nothing. */
import { InputError } from "../lib/errors.ts";
import { formatMicros } from "../market/decimal.ts";
import { dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import { readCatalog } from "./catalog.ts";
import { Complaints } from "./complaints.ts";
import { GivenLevels, type GivenKind, type GivenLevel } from "./given-levels.ts";
import { readLevels } from "./levels.ts";
import { readMap, withoutComments, type MapDraft } from "./map.ts";
import { proposeMap, type Proposal } from "./propose-map.ts";
import type { InputSource } from "./source.ts";
import { MAX_INPUT_MEGABYTES } from "../lib/limits.ts";

const ROWS_SHOWN = 10;

/** A level as it would be read. Null: the row leaves it out. */
export type TriedRow = Readonly<
  Record<"id" | "level" | "time" | "basis" | "low" | "high", string | null>
>;

export interface TriedMap {
  readonly kind: GivenKind;
  /** The first rows, in the order of the file. */
  readonly rows: readonly TriedRow[];
  /** How many rows were read. */
  readonly count: number;
  /** The map, as its file has it. */
  readonly map: MapDraft;
  readonly questions: readonly string[];
  readonly complaints: Complaints;
}

/** A file of levels, and the way to read it. */
export interface Trial {
  readonly file: InputSource;
  readonly catalog: InputSource | null;
  /** Null: propose one. */
  readonly map: InputSource | null;
  /** Null: quotes, or closes if a column has dates. */
  readonly kind: GivenKind | null;
  /** Later rows are faults, as in a run for this session. */
  readonly session: Session;
}

/** Reads the file. Throws InputError if the file, the catalog or the map cannot be read. */
export async function tryMap({ file, catalog, map, kind, session }: Trial): Promise<TriedMap> {
  const complaints = new Complaints();
  const contracts = catalog === null ? [] : (await readCatalog(catalog, complaints)).contracts;
  complaints.raise();
  const bytes = await bytesOf(file);
  const proposal =
    map === null ? proposeMap(bytes, contracts, stemOf(file), kind) : await givenMap(map, kind);
  if (proposal === null)
    throw new InputError(
      `${file.name}: no table was found, expected CSV, JSON or NDJSON with a row for each level`,
    );
  const draft: InputSource = {
    name: map?.name ?? "the proposed map",
    format: null,
    open: async function* () {
      yield Buffer.from(JSON.stringify(proposal.map));
    },
  };
  const read = await readMap(draft, complaints);
  complaints.raise();
  const known = new Set(contracts.map(({ id }) => id));
  const given = new GivenLevels({
    held: new Set(),
    holdInvalid: false,
    known,
    ignoreUnknown: false,
    round: false,
  });
  given.addNames(read?.ids.keys() ?? []);
  const copy: InputSource = {
    ...file,
    open: async function* () {
      yield bytes;
    },
  };
  await readLevels(proposal.kind, copy, session, given, complaints, read);
  const levels = [...given.byContract].flatMap(([id, { levels: byKind }]) =>
    (byKind[proposal.kind] ?? []).map((level) => ({ id, level })),
  );
  const rows = levels
    .toSorted((a, b) => a.level.place - b.level.place)
    .slice(0, ROWS_SHOWN)
    .map(({ id, level }) => rowOf(proposal.kind, id, level));
  return { ...proposal, rows, count: given.rows[proposal.kind], complaints };
}

/** The whole file. One that never ends is refused as a large one is. */
async function bytesOf(file: InputSource): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of file.open()) {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_INPUT_MEGABYTES * 1_000_000)
      throw new InputError(
        `${file.name}: more than ${MAX_INPUT_MEGABYTES} MB, expected at most that; split it`,
      );
  }
  return Buffer.concat(pieces);
}

/** The name of a file without folders and extension. */
const stemOf = ({ name }: InputSource): string =>
  name.replace(/^.*[/\\]/s, "").replace(/\.[^.]*$/, "");

/** A map that somebody wrote. It is for closes unless it names a column of quotes alone. */
async function givenMap(source: InputSource, kind: GivenKind | null): Promise<Proposal> {
  const complaints = new Complaints();
  const text = String(await bytesOf(source));
  await readMap(
    {
      ...source,
      open: async function* () {
        yield Buffer.from(text);
      },
    },
    complaints,
  );
  complaints.raise();
  const map = JSON.parse(withoutComments(text)) as MapDraft;
  const names = [map["columns"], map["wide"]].flatMap((member) => Object.keys(member ?? {}));
  const isQuotes = ["spot_usd", "session_utc", "as_of"].some((name) => names.includes(name));
  return { kind: kind ?? (isQuotes ? "quotes" : "closes"), map, questions: [] };
}

function rowOf(kind: GivenKind, id: string, level: GivenLevel): TriedRow {
  const { session, usd, basis, lowUsd, highUsd } = level;
  return {
    id,
    time: kind === "closes" ? dateText(dayOf(session)) : sessionKey(session),
    level: usd === null ? null : formatMicros(usd),
    low: lowUsd === undefined ? null : formatMicros(lowUsd),
    high: highUsd === undefined ? null : formatMicros(highUsd),
    basis: basis ?? null,
  };
}
