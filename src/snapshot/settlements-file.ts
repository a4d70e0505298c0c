/**
 * `settlements.json`: the settled months of all contracts and indices, of those that left the catalog as well. The
 * next publication goes on from it; it is never served.
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { jsonText } from "../lib/json.ts";
import { parseMonth } from "../market/session.ts";
import {
  SETTLED_KINDS,
  type MonthFigures,
  type Settlement,
  type Settlements,
} from "../market/settlements.ts";

const decimal = z.string().regex(/^\d+(\.\d+)?$/);
const figuresSchema = z.object({
  days: z.int().nonnegative(),
  figures: z.object({ average: decimal, last: decimal, high: decimal, low: decimal }).nullable(),
});

const fileSchema = z.array(
  z.object({
    kind: z.enum(SETTLED_KINDS),
    id: z.string(),
    months: z.array(
      z.object({
        month: z.string().refine((text) => parseMonth(text) !== null),
        unit: z.string().nullable(),
        capacity_gb: decimal.nullable(),
        settled_by: z.int().positive(),
        settled: figuresSchema,
        /** Left out if it is the same. */
        now: figuresSchema.optional(),
      }),
    ),
  }),
);

/** The text of the file. */
export const renderSettlements = (settlements: Settlements): string =>
  jsonText(
    SETTLED_KINDS.flatMap((kind) =>
      Array.from(settlements[kind], ([id, months]) => ({
        kind,
        id,
        months: months.map(({ month, unit, capacityGb, settledBy, settled, now }) => ({
          month,
          unit,
          capacity_gb: capacityGb,
          settled_by: settledBy,
          settled,
          ...(!isSame(settled, now) && { now }),
        })),
      })),
    ),
  );

const isSame = (a: MonthFigures, b: MonthFigures): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** Reads the file. Throws DamageError, naming `where`, if it has no settlements. */
export function parseSettlements(bytes: Buffer, where: string): Settlements {
  try {
    const items = fileSchema.parse(JSON.parse(bytes.toString("utf8")));
    const byKind = (wanted: string) =>
      new Map(
        items
          .filter(({ kind }) => kind === wanted)
          .map(({ id, months }): [string, Settlement[]] => [
            id,
            months.map(({ capacity_gb, settled_by, now, ...month }) => ({
              ...month,
              capacityGb: capacity_gb,
              settledBy: settled_by,
              now: now ?? month.settled,
            })),
          ]),
      );
    return { index: byKind("index"), contract: byKind("contract") };
  } catch (cause) {
    throw new DamageError(`${where} is not a list of settlements`, [], { cause });
  }
}
