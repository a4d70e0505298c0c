/**
 * `catalog.json`: the snapshot's catalog in board order. It has the format of catalog input, so an
 * operator can edit it and pass it to the next publish.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { jsonText } from "../lib/json.ts";
import { BOARDS, PRICE_TYPES, type Contract } from "../market/contract.ts";
import { dayField } from "./stored-fields.ts";

/** A number in the file; in a contract, its shortest text. */
const decimal = z.codec(z.number(), z.string(), { decode: String, encode: Number });

/** Ids in the file, separated by blanks; null: none. */
const ids = z.codec(z.string().nullable(), z.array(z.string()).readonly(), {
  decode: (text) => text?.split(" ") ?? [],
  encode: (all) => (all.length === 0 ? null : all.join(" ")),
});

/** The fields of an entry in the file's order, each with its name and schema. */
const FIELDS = {
  id: ["id", z.string()],
  ticker: ["ticker", z.string()],
  name: ["name", z.string()],
  board: ["board", z.enum(BOARDS)],
  segment: ["segment", z.string()],
  unit: ["unit", z.string()],
  aiExposurePct: ["ai_exposure_pct", decimal],
  source: ["source", z.string()],
  sourceUrl: ["source_url", z.string()],
  capacityGb: ["capacity_gb", decimal.nullable()],
  maxCarryDays: ["max_carry_days", z.int().nullable()],
  free: ["free", z.boolean()],
  priceType: ["price_type", z.enum(PRICE_TYPES).nullable()],
  delistedOn: ["delisted_on", dayField.nullable()],
  formerly: ["formerly", ids],
  cadenceDays: ["cadence_days", decimal],
  maxMovePct: ["max_move_pct", decimal.nullable().default(null)],
} satisfies {
  readonly [F in Exclude<keyof Contract, "segmentFormerly">]: readonly [
    string,
    z.ZodType<Contract[F]>,
  ];
};

const entries = Object.entries(FIELDS) as [keyof Contract, [string, z.ZodType]][];

const fileSchema = z.array(
  z.object({
    ...Object.fromEntries(entries.map(([, [name, form]]) => [name, form])),
    // Only where a segment was renamed.
    segment_formerly: ids.optional(),
  }),
);

/** The fields of a contract under their names in the file, in its order, with JSON values. */
export const catalogFields = (contract: Contract): [string, string | number | boolean | null][] =>
  entries.map(([field, [name, form]]) => [
    name,
    z.encode(form, contract[field]) as string | number | boolean | null,
  ]);

/** The text of `catalog.json`, in the order given. */
export const renderCatalog = (catalog: readonly Contract[]): string =>
  jsonText(
    catalog.map((contract) => ({
      ...Object.fromEntries(catalogFields(contract)),
      ...(contract.segmentFormerly !== undefined && {
        segment_formerly: contract.segmentFormerly.join(" "),
      }),
    })),
  );

/** Reads the file. Throws DamageError, naming `where`, if it is not a catalog. */
export function parseCatalog(bytes: Buffer, where: string): Contract[] {
  try {
    return fileSchema.parse(JSON.parse(bytes.toString("utf8"))).map(
      ({ segment_formerly: segmentFormerly, ...item }) =>
        ({
          ...Object.fromEntries(
            entries.map(([field, [name]]) => [field, (item as Record<string, unknown>)[name]]),
          ),
          ...(segmentFormerly !== undefined && { segmentFormerly }),
        }) as unknown as Contract,
    );
  } catch (cause) {
    throw new DamageError(`${where} is not a catalog this version can read`, [], { cause });
  }
}
