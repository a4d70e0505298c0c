/** Reads a run's input, all of it, before anything is looked up or written. */
import { createHash } from "node:crypto";
import { readCatalog } from "../feed/catalog.ts";
import { Complaints } from "../feed/complaints.ts";
import { readCloses, readQuotes, type LevelTable } from "../feed/levels.ts";
import type { GivenLevel } from "../feed/given-levels.ts";
import { mergedBySession } from "../ledger/given.ts";
import type { Contract } from "../market/contract.ts";
import { renderCatalog } from "../snapshot/catalog-file.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { Progress, PublishRequest } from "./request.ts";

export interface Inputs {
  /** Null: none was given. `ids` includes those of faulty rows. */
  readonly catalog: { contracts: readonly Contract[]; ids: ReadonlySet<string> } | null;
  readonly tables: readonly LevelTable[];
  /** What is wrong so far; more may come when the input meets the ledger. */
  readonly complaints: Complaints;
}

export async function readInputs(request: PublishRequest, progress: Progress): Promise<Inputs> {
  const complaints = new Complaints();
  const total = (request.catalog === null ? 0 : 1) + request.quotes.length + request.closes.length;
  let done = 0;
  const tell = (): void => progress("Reading", (done += 1), total);

  const catalog = request.catalog === null ? null : await readCatalog(request.catalog, complaints);
  if (catalog !== null) tell();
  const quotes: LevelTable = { kind: "quotes", byContract: new Map(), rows: 0 };
  for (const source of request.quotes) {
    await readQuotes(source, request.session, quotes, complaints);
    tell();
  }
  const closes: LevelTable = { kind: "closes", byContract: new Map(), rows: 0 };
  for (const source of request.closes) {
    await readCloses(source, request.session, closes, complaints);
    tell();
  }
  return { catalog, tables: [quotes, closes], complaints };
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
  for (const table of inputs.tables) {
    if (table.rows === 0) continue;
    described.push({ kind: table.kind, rows: table.rows, sha256: digestOf(table) });
  }
  return described;
}

function digestOf(table: LevelTable): string {
  const hash = createHash("sha256");
  for (const id of [...table.byContract.keys()].sort()) {
    const rows: string[] = [id];
    for (const given of mergedBySession([table], id, new Complaints())) rows.push(rowText(given));
    hash.update(rows.join("\n")).update("\n\n");
  }
  return hash.digest("hex");
}

function rowText({ session, usd, extras }: GivenLevel): string {
  const { basis, asOf, source, sourceUrl, breakReason } = extras;
  const named = [basis, asOf, source, sourceUrl, breakReason];
  return named.every((value) => value === undefined)
    ? `${session} ${usd}`
    : `${session} ${usd} ${JSON.stringify(named)}`;
}
