/**
 * `catalog.json`: the catalog as of the snapshot, in board order. It has the form of catalog input,
 * so it can be edited and given to the next publish.
 */
import { z } from "zod";
import { DamageError } from "../errors.ts";
import { BOARDS, type Contract } from "../market/contract.ts";
import { jsonArray } from "../json-array.ts";

const fileSchema = z.array(
  z.object({
    id: z.string(),
    ticker: z.string(),
    name: z.string(),
    board: z.enum(BOARDS),
    segment: z.string(),
    unit: z.string(),
    ai_exposure_pct: z.number(),
    source: z.string(),
    source_url: z.string(),
    capacity_gb: z.number().nullable(),
    max_carry_days: z.int().nullable(),
    free: z.boolean(),
  }),
);

/** The text of `catalog.json`, in the order given. */
export const renderCatalog = (catalog: readonly Contract[]): string =>
  `${jsonArray(
    catalog.map(
      (item) =>
        `${JSON.stringify({
          id: item.id,
          ticker: item.ticker,
          name: item.name,
          board: item.board,
          segment: item.segment,
          unit: item.unit,
        }).slice(0, -1)},"ai_exposure_pct":${item.aiExposurePct},` +
        `"source":${JSON.stringify(item.source)},"source_url":${JSON.stringify(item.sourceUrl)},` +
        `"capacity_gb":${item.capacityGb},"max_carry_days":${item.maxCarryDays},"free":${item.free}}`,
    ),
  )}\n`;

/** Reads the file. Throws DamageError, naming `where`, where it is none. */
export function parseCatalog(bytes: Buffer, where: string): Contract[] {
  try {
    return fileSchema.parse(JSON.parse(bytes.toString("utf8"))).map((item) => ({
      id: item.id,
      ticker: item.ticker,
      name: item.name,
      board: item.board,
      segment: item.segment,
      unit: item.unit,
      aiExposurePct: String(item.ai_exposure_pct),
      source: item.source,
      sourceUrl: item.source_url,
      capacityGb: item.capacity_gb === null ? null : String(item.capacity_gb),
      maxCarryDays: item.max_carry_days,
      free: item.free,
    }));
  } catch (cause) {
    throw new DamageError(`${where} is not a catalog this version can read`, [], { cause });
  }
}
