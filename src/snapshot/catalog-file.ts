/**
 * `catalog.json`: the snapshot's catalog in board order. It has the format of catalog input, so an
 * operator can edit it and pass it to the next publish.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { jsonArray } from "../lib/text.ts";
import { BOARDS, type Contract } from "../market/contract.ts";

/** A number in the file; in a contract, its shortest text. */
const decimal = z.codec(z.number(), z.string(), { decode: String, encode: Number });

/**
 * The fields of an entry in the file's order, each with its name and schema. A field that older
 * snapshots lack needs a default.
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

/** Reads the file. Throws DamageError, naming `where`, if it is not a catalog. */
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
