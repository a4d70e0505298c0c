/**
 * `catalog.json`: the catalog as of the snapshot, in board order. It has the form of catalog input,
 * so it can be edited and given to the next publish.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { jsonArray } from "../lib/text.ts";
import { BOARDS, type Contract } from "../market/contract.ts";

/** A number in the file, its shortest text in a contract. */
const decimal = z.codec(z.number(), z.string(), { decode: String, encode: Number });

/**
 * The fields of an entry in the file's order: name and form of each. One that older snapshots lack
 * has a default.
 */
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
} satisfies { readonly [F in keyof Contract]: readonly [string, z.ZodType<Contract[F]>] };

const entries = Object.entries(FIELDS) as [keyof Contract, [string, z.ZodType]][];

const fileSchema = z.array(
  z.object(Object.fromEntries(entries.map(([, [name, form]]) => [name, form]))),
);

/** The text of `catalog.json`, in the order given. */
export const renderCatalog = (catalog: readonly Contract[]): string =>
  `${jsonArray(
    catalog.map((contract) => {
      const fields = entries.map(([field, [name, form]]) => [
        name,
        z.encode(form, contract[field]),
      ]);
      return JSON.stringify(Object.fromEntries(fields));
    }),
  )}\n`;

/** Reads the file. Throws DamageError, naming `where`, where it is none. */
export function parseCatalog(bytes: Buffer, where: string): Contract[] {
  try {
    return fileSchema
      .parse(JSON.parse(bytes.toString("utf8")))
      .map(
        (item) =>
          Object.fromEntries(
            entries.map(([field, [name]]) => [field, item[name]]),
          ) as unknown as Contract,
      );
  } catch (cause) {
    throw new DamageError(`${where} is not a catalog this version can read`, [], { cause });
  }
}
