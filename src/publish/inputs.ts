/** Reads a run's whole input before the run looks at the head. */
import { createHash } from "node:crypto";
import { readCatalog } from "../feed/catalog.ts";
import { Complaints } from "../feed/complaints.ts";
import { MAX_ID_CHARACTERS } from "../feed/fields.ts";
import { GIVEN_KINDS, GivenLevels, type GivenKind } from "../feed/given-levels.ts";
import { readCloses, readQuotes } from "../feed/levels.ts";
import type { Contract } from "../market/contract.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import type { Judgement } from "../snapshot/judgement.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { publishedIds } from "./base.ts";
import type { Progress, PublishRequest } from "./request.ts";

/** The decimals of a level. */
const LEVEL_DECIMALS = 6;

/** The input of a run. */
export interface Inputs {
  /** Null without `--catalog`. `ids` has the place of each id's row, also of faulty rows. */
  readonly catalog: { contracts: readonly Contract[]; ids: ReadonlyMap<string, string> } | null;
  readonly given: GivenLevels;
  /** The errors so far. The comparison with the ledger may add more. */
  readonly complaints: Complaints;
}

/**
 * Reads every source, in turn. It adds their errors to `complaints` and does not throw them. It looks
 * into the store only to learn which ids are known, if rows of others are to be left out.
 */
export async function readInputs(
  request: PublishRequest,
  store: ObjectStore,
  progress: Progress,
): Promise<Inputs> {
  const complaints = new Complaints();
  const total = (request.catalog === null ? 0 : 1) + request.quotes.length + request.closes.length;
  let done = 0;
  const tell = (): void => progress("Reading", (done += 1), total);

  const catalog = request.catalog === null ? null : await readCatalog(request.catalog, complaints);
  if (catalog !== null) tell();
  const knownIds = async () => catalog?.ids ?? (await publishedIds(store));
  const given = new GivenLevels({
    held: new Set(request.hold),
    holdInvalid: request.holdInvalid ?? false,
    known: request.ignoreUnknown ? await knownIds() : null,
    round: request.round ?? false,
  });
  for (const source of request.quotes) {
    await readQuotes(source, request.session, given, complaints);
    tell();
  }
  for (const source of request.closes) {
    await readCloses(source, request.session, given, complaints);
    tell();
  }
  return { catalog, given, complaints };
}

/** What was left out or rounded. */
export function judgementsOf({ held, unknown, rounded }: GivenLevels): Judgement[] {
  return [
    ...[...held].map(([contract, measured]): Judgement => {
      return { gate: "held", contract, measured, limit: null };
    }),
    ...[...unknown].map(([id, measured]): Judgement => {
      return { gate: "unknown", contract: id && shortened(id), measured, limit: null };
    }),
    ...(rounded === 0
      ? []
      : [{ gate: "rounded", contract: null, measured: rounded, limit: LEVEL_DECIMALS } as const]),
  ];
}

/** An id that no catalog knows can be of any length. */
const shortened = (id: string): string =>
  id.length <= MAX_ID_CHARACTERS ? id : `${id.slice(0, MAX_ID_CHARACTERS)}…`;

/**
 * The manifest's description of the input. Each digest covers the parsed values in the order of
 * contract and session, so that neither the format nor the order of the rows matters. Call it only
 * without complaints.
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
 * The digest covers, for each contract, a line of JSON with its id, the number of its levels and their
 * optional fields, then their sessions and their prices as little-endian numbers.
 */
function digestOf(given: GivenLevels, kind: GivenKind): string {
  const hash = createHash("sha256");
  const contracts = [...given.byContract].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [id, { levels: rows }] of contracts) {
    const levels = rows[kind] ?? [];
    if (levels.length === 0) continue;
    const named = levels.flatMap((level, at) => {
      const { basis, asOf, source, sourceUrl, breakReason } = level;
      const { lowUsd, highUsd, inputs: count, rationale } = level;
      const range = [lowUsd, highUsd, count, rationale];
      const values = [basis, asOf, source, sourceUrl, breakReason, ...range];
      const length = values.findLastIndex((value) => value !== undefined) + 1;
      return length === 0 ? [] : [[at, values.slice(0, length)]];
    });
    hash
      .update(`${JSON.stringify([id, levels.length, named])}\n`)
      .update(Int32Array.from(levels, ({ session }) => session))
      .update(Float64Array.from(levels, ({ usd }) => usd ?? 0));
  }
  return hash.digest("hex");
}
