/**
 * `basket.json` of a tier: the data for custom baskets of its session, so that the proxy prices one without
 * the ledger. The publisher writes the file and the proxy reads it, both through this module.
 */
import { z } from "zod";
import { jsonText } from "../lib/json.ts";
import { EXCLUSION_REASONS } from "../market/change.ts";
import {
  composite,
  isConstituent,
  quantityComposite,
  type Part,
  type Weighting,
} from "../market/composite.ts";
import { microsOf, unitsOf, type Micros } from "../market/decimal.ts";
import { BOARD_BASES } from "../market/series.ts";
import { dateText, parseDate, parseSession, type Day, type Session } from "../market/session.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import { indexFields } from "./index-body.ts";
import { BASKET, envelope, type Body, type index } from "./payload-schemas.ts";

const usd = z.number().positive();

/** Every contract on the boards. An earlier level that does not compare is null; `reason` is the base's. */
const basketFileSchema = z.object({
  ...envelope,
  contracts: z.array(
    z.object({
      id: z.string(),
      ticker: z.string(),
      segment: z.string(),
      spot_usd: usd,
      base_usd: usd.nullable(),
      then_24h_usd: usd.nullable(),
      then_30d_usd: usd.nullable(),
      basis: z.enum(BOARD_BASES),
      as_of: z.iso.date(),
      base_as_of: z.iso.date().nullable(),
      reason: z.enum(EXCLUSION_REASONS).nullable(),
    }),
  ),
});
type Item = z.infer<typeof basketFileSchema>["contracts"][number];

/** The file's content, prepared for pricing. */
export interface BasketFile {
  readonly envelope: Envelope;
  /** Every contract on the board, by id. */
  readonly contracts: ReadonlyMap<string, Part>;
}

export function renderBasketFile(envelope: Envelope, parts: readonly Part[]): string {
  const file: Body<typeof basketFileSchema> = {
    ...envelopeFields(envelope),
    contracts: parts.map(itemOf),
  };
  return jsonText(file);
}

const itemOf = (part: Part): Item => ({
  id: part.id,
  ticker: part.ticker,
  segment: part.segment,
  spot_usd: unitsOf(part.now),
  base_usd: part.base && unitsOf(part.base),
  then_24h_usd: part.then24h && unitsOf(part.then24h),
  then_30d_usd: part.then30d && unitsOf(part.then30d),
  basis: part.basis,
  as_of: dateText(part.asOf),
  base_as_of: part.baseAsOf === null ? null : dateText(part.baseAsOf),
  reason: part.reason,
});

/** Reads the file. Throws ZodError or SyntaxError if it is not a basket file. */
export function parseBasketFile(bytes: Uint8Array): BasketFile {
  const file = basketFileSchema.parse(JSON.parse(Buffer.from(bytes).toString("utf8")));
  return {
    envelope: {
      session: parseSession(file.session_utc) as Session,
      delayedSessions: file.delayed_sessions,
      license: file.license,
      attribution: file.attribution,
    },
    contracts: new Map(file.contracts.map(entryOf)),
  };
}

function entryOf({ id, ticker, segment, basis, reason, ...item }: Item): [string, Part] {
  const levelOf = (usd: number | null): Micros | null => (usd === null ? null : microsOf(usd));
  const part = {
    id,
    ticker,
    segment,
    now: microsOf(item.spot_usd),
    base: levelOf(item.base_usd),
    then24h: levelOf(item.then_24h_usd),
    then30d: levelOf(item.then_30d_usd),
    basis,
    asOf: parseDate(item.as_of) as Day,
    baseAsOf: item.base_as_of === null ? null : (parseDate(item.base_as_of) as Day),
    reason,
  };
  return [id, part];
}

/**
 * The body for a custom basket. `amounts[i]`, a positive integer, belongs to `parts[i]`: its quantity in
 * units of 10⁻⁹ if `weighting` is `quantities`, otherwise its weight in any common scale, and each part has
 * a base. `overdueSessions` is added to the file's delay.
 */
export function basketBody(
  file: BasketFile,
  parts: readonly Part[],
  amounts: readonly bigint[],
  weighting: Weighting,
  overdueSessions: number,
): string {
  const priced =
    weighting === "quantities"
      ? quantityComposite(parts, amounts)
      : composite(parts.filter(isConstituent), amounts);
  const delayedSessions = file.envelope.delayedSessions + overdueSessions;
  const asked = { ...file.envelope, delayedSessions };
  const body: Body<typeof index> = indexFields(asked, BASKET, weighting, priced, []);
  return jsonText(body);
}
