/** Reads the catalog: one row per contract, in board order. */
import {
  BOARDS,
  MAX_CARRY_DAYS,
  PRICE_TYPES,
  USUAL_CADENCE_DAYS,
  type Contract,
} from "../market/contract.ts";
import { formatMicros } from "../market/decimal.ts";
import { COMPOSITE, slugOf } from "../market/indices.ts";
import { FREE_SLICE_SIZE } from "../market/tier.ts";
import { quoted, type Complaints } from "./complaints.ts";
import {
  dateField,
  decimalField,
  idField,
  idsField,
  oneOf,
  textField,
  urlField,
  wholeNumberField,
} from "./fields.ts";
import { MAX_MOVE_PCT } from "./finding.ts";
import type { InputSource } from "./source.ts";
import type { TableRow } from "./table-row.ts";
import type { TableShape } from "./table-shape.ts";
import { readTable } from "./table.ts";

const REQUIRED = [
  "id",
  "ticker",
  "name",
  "board",
  "segment",
  "unit",
  "ai_exposure_pct",
  "source",
  "source_url",
];
const SHAPE: TableShape = {
  columns: [
    ...REQUIRED,
    "capacity_gb",
    "max_carry_days",
    "free",
    "price_type",
    "delisted_on",
    "formerly",
    "cadence_days",
    "max_move_pct",
    // A snapshot's catalog can have it. It is not read: publish knows the former ids from the head.
    "segment_formerly",
  ],
  required: REQUIRED,
};

const boardField = oneOf(BOARDS);
const exposureField = decimalField(0, 100);
/** In gigabytes of 10⁹ bytes. */
const capacityField = decimalField(1_000, 1_000_000);
const carryField = wholeNumberField(0, MAX_CARRY_DAYS);
const flagField = oneOf(["true", "false"]);
const priceTypeField = oneOf(PRICE_TYPES);
/** In percent, as --max-move. */
const moveField = decimalField(0, MAX_MOVE_PCT);
/** From every session to once a year. */
const cadenceField = decimalField(500_000, 366);

/**
 * The catalog's contracts. It leaves out rows with complaints, so use the result only if there are
 * none. `ids` holds every id with the place of its row, also of faulty rows, so that their quotes are
 * not reported as unknown as well.
 */
export async function readCatalog(
  source: InputSource,
  complaints: Complaints,
): Promise<{ contracts: Contract[]; ids: ReadonlyMap<string, string> }> {
  const before = complaints.count;
  const contracts: Contract[] = [];
  const firstRowOf = new Map<string, string>();
  const renamed: Renamed[] = [];
  const requireIndexId = indexIdChecker();
  await readTable(source, SHAPE, complaints, (row) => {
    const id = row.text("id");
    const first = firstRowOf.get(id);
    if (first !== undefined) {
      complaints.at(row.where, `id ${quoted(id)} appears twice, first at ${first}`);
      return;
    }
    firstRowOf.set(id, row.where);
    if (!row.isFaultless) return;
    const contract = contractOf(row);
    requireIndexId(row);
    if (!row.isFaultless) return;
    contracts.push(contract);
    const isOneOfSeveral = contract.formerly.length > 1;
    for (const formerly of contract.formerly) renamed.push({ row, id, formerly, isOneOfSeveral });
  });
  requireFreeFormerIds(renamed, firstRowOf);
  if (complaints.count === before && contracts.length === 0) {
    complaints.at(source.name, "no rows, expected at least one contract");
  }
  return {
    contracts: withFreeSlice(contracts, source.name, complaints, before),
    ids: firstRowOf,
  };
}

/** Complains of the first row of each segment whose index would have no id of its own. */
function indexIdChecker(): (row: TableRow) => void {
  const seen = new Set<string>();
  const firstOf = new Map<string, { readonly segment: string; readonly where: string }>();
  return (row) => {
    const segment = textField.parse(row.text("segment"));
    if (segment === undefined || seen.has(segment)) return;
    seen.add(segment);
    const id = slugOf(segment);
    const first = firstOf.get(id);
    if (id === COMPOSITE) {
      row.refuse("segment", `a name other than ${COMPOSITE}, the name of the whole market's index`);
    } else if (!/[a-z0-9]/.test(id)) {
      row.refuse("segment", "at least one letter from A to Z or digit, for the id of its index");
    } else if (first !== undefined) {
      const other = `${quoted(first.segment)} at ${first.where}`;
      row.refuse("segment", `an index id of its own, but ${other} also has ${quoted(id)}`);
    } else firstOf.set(id, { segment, where: row.where });
  };
}

/** A row, and an id that its contract had before. */
interface Renamed {
  readonly row: TableRow;
  readonly id: string;
  readonly formerly: string;
  /** Whether the cell names others, so that a message must name this one. */
  readonly isOneOfSeveral: boolean;
}

/** Complains of former ids that are in use, and of those that two contracts name. */
function requireFreeFormerIds(
  renamed: readonly Renamed[],
  firstRowOf: ReadonlyMap<string, string>,
): void {
  const newIdOf = new Map<string, string>();
  for (const { row, id, formerly, isOneOfSeveral } of renamed) {
    const used = firstRowOf.get(formerly);
    const other = newIdOf.get(formerly);
    if (used !== undefined) {
      const expected = isOneOfSeveral
        ? `ids that the catalog no longer uses, but it uses ${quoted(formerly)} at ${used}`
        : `an id that the catalog no longer uses, but it does at ${used}`;
      row.refuse("formerly", expected);
    } else if (other !== undefined) {
      const expected = isOneOfSeveral
        ? `ids that one contract had before, but ${other} also names ${quoted(formerly)}`
        : `an id that one contract had before, but ${other} also names it`;
      row.refuse("formerly", expected);
    } else newIdOf.set(formerly, id);
  }
}

function contractOf(row: TableRow): Contract {
  const capacity = row.optional("capacity_gb", capacityField);
  const cadence = row.optional("cadence_days", cadenceField);
  const move = row.optional("max_move_pct", moveField);
  return {
    id: row.read("id", idField),
    ticker: row.read("ticker", textField),
    name: row.read("name", textField),
    board: row.read("board", boardField),
    segment: row.read("segment", textField),
    unit: row.read("unit", textField),
    aiExposurePct: formatMicros(row.read("ai_exposure_pct", exposureField)),
    source: row.read("source", textField),
    sourceUrl: row.read("source_url", urlField),
    capacityGb: capacity === null ? null : formatMicros(capacity),
    maxCarryDays: row.optional("max_carry_days", carryField),
    free: row.optional("free", flagField) === "true",
    priceType: row.optional("price_type", priceTypeField),
    delistedOn: row.optional("delisted_on", dateField),
    formerly: row.optional("formerly", idsField) ?? [],
    cadenceDays: cadence === null ? USUAL_CADENCE_DAYS : formatMicros(cadence),
    maxMovePct: move === null ? null : formatMicros(move),
  };
}

/** Chooses what callers without a key see: the ten marked rows, else the first ten or all. */
function withFreeSlice(
  contracts: readonly Contract[],
  source: string,
  complaints: Complaints,
  complaintsBefore: number,
): Contract[] {
  if (contracts.length < FREE_SLICE_SIZE) {
    return contracts.map((contract) => ({ ...contract, free: true }));
  }
  const marked = contracts.filter((contract) => contract.free).length;
  if (marked === 0)
    return contracts.map((contract, at) => ({ ...contract, free: at < FREE_SLICE_SIZE }));
  if (marked !== FREE_SLICE_SIZE && complaints.count === complaintsBefore) {
    complaints.at(
      source,
      `free is true on ${marked} rows, expected exactly ${FREE_SLICE_SIZE}, or none for the first ${FREE_SLICE_SIZE}`,
    );
  }
  return [...contracts];
}
