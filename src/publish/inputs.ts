/** Reads a run's input, all of it, before anything is looked up or written. */
import { createHash } from "node:crypto";
import { readCatalog } from "../feed/catalog.ts";
import { Complaints } from "../feed/complaints.ts";
import { GIVEN_KINDS, type GivenKind, type GivenLevels } from "../feed/given-levels.ts";
import { GivenTableBuilder, type GivenTable } from "../feed/given-table.ts";
import { readCloses, readQuotes } from "../feed/levels.ts";
import { mergedBySession } from "../ledger/given-rows.ts";
import type { Contract } from "../market/contract.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { Progress, PublishRequest } from "./request.ts";

/** What a run was given, as it was read. */
export interface Inputs {
  /** Null: none was given. `ids` includes those of faulty rows. */
  readonly catalog: { contracts: readonly Contract[]; ids: ReadonlySet<string> } | null;
  readonly given: GivenTable;
  /** What is wrong so far; more may come when the input meets the ledger. */
  readonly complaints: Complaints;
}

/** Reads every source, in turn. Nothing is thrown for what is wrong with them: `complaints` has it. */
export async function readInputs(request: PublishRequest, progress: Progress): Promise<Inputs> {
  const complaints = new Complaints();
  const total = (request.catalog === null ? 0 : 1) + request.quotes.length + request.closes.length;
  let done = 0;
  const tell = (): void => progress("Reading", (done += 1), total);

  const catalog = request.catalog === null ? null : await readCatalog(request.catalog, complaints);
  if (catalog !== null) tell();
  const given = new GivenTableBuilder();
  for (const source of request.quotes) {
    await readQuotes(source, request.session, given, complaints);
    tell();
  }
  for (const source of request.closes) {
    await readCloses(source, request.session, given, complaints);
    tell();
  }
  return { catalog, given: given.build(), complaints };
}

/**
 * What was read, for the manifest: each digest over the parsed values in the order of contract and
 * session, so that neither the format nor the order of the rows matters. Call it on input without
 * complaints.
 */
export function describeInputs(inputs: Inputs): Manifest["inputs"] {
  const described: Manifest["inputs"] = [];
  if (inputs.catalog !== null) {
    const { contracts } = inputs.catalog;
    const sha256 = sha256Hex(renderCatalog(contracts));
    described.push({ kind: "catalog", rows: contracts.length, sha256 });
  }
  for (const kind of GIVEN_KINDS) {
    const rows = inputs.given.rows[kind];
    if (rows > 0) described.push({ kind, rows, sha256: digestOf(inputs.given, kind) });
  }
  return described;
}

/**
 * For each contract a line of JSON with its id, the number of its levels and what they name besides
 * a price, and then their sessions and their prices as two columns of little-endian numbers.
 */
function digestOf({ byContract }: GivenTable, kind: GivenKind): string {
  const hash = createHash("sha256");
  for (const id of [...byContract.keys()].sort()) {
    const { sessions, usd, extras } = columnsOf(byContract.get(id) as GivenLevels, id, kind);
    if (sessions.length === 0) continue;
    const named = [...extras]
      .sort(([a], [b]) => a - b)
      .map(([place, { basis, asOf, source, sourceUrl, breakReason }]) => [
        place,
        [basis, asOf, source, sourceUrl, breakReason],
      ])
      .filter(([, values]) => (values as unknown[]).some((value) => value !== undefined));
    hash
      .update(`${JSON.stringify([id, sessions.length, named])}\n`)
      .update(sessions)
      .update(usd);
  }
  return hash.digest("hex");
}

/** What the files of one kind name for a contract, one entry a session, in columns. */
function columnsOf(
  levels: GivenLevels,
  id: string,
  kind: GivenKind,
): Pick<GivenLevels, "sessions" | "usd" | "extras"> {
  const stretches = levels.placesOf(kind);
  const [{ from, to } = { from: 0, to: 0 }, ...more] = stretches;
  const { sessions, usd, extras } = levels;
  if (levels.areSeries && more.length === 0) {
    const own = [...extras].filter(([place]) => from <= place && place < to);
    return {
      sessions: sessions.subarray(from, to),
      usd: usd.subarray(from, to),
      extras: new Map(own.map(([place, named]) => [place - from, named])),
    };
  }
  const merged = [...mergedBySession(levels, stretches, id, new Complaints())];
  return {
    sessions: Int32Array.from(merged, (item) => item.session),
    usd: Float64Array.from(merged, (item) => item.usd ?? 0),
    extras: new Map(merged.map(({ extras: named }, at) => [at, named])),
  };
}
