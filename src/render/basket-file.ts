/**
 * `basket.json` of a tier: the data for custom baskets of its session, so that the proxy prices one without
 * the ledger. The publisher writes the file and the proxy reads it, both through this module.
 */
import { z } from "zod";
import { textOf } from "../lib/bytes.ts";
import { jsonText } from "../lib/json.ts";
import { EXCLUSION_REASONS } from "../market/change.ts";
import {
  composite,
  isConstituent,
  quantityComposite,
  type BasketItem,
  type Weighting,
} from "../market/composite.ts";
import { microsOf, unitsOf, type Micros } from "../market/decimal.ts";
import { BOARD_BASES } from "../market/series.ts";
import { dateText, parseDate, parseSession, type Day, type Session } from "../market/session.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import { indexFields } from "./index-body.ts";
import { BASKET, envelope, type Body, type index } from "../public/payload-schemas.ts";

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
  readonly contracts: ReadonlyMap<string, BasketItem>;
}

export function renderBasketFile(envelope: Envelope, items: readonly BasketItem[]): string {
  const file: Body<typeof basketFileSchema> = {
    ...envelopeFields(envelope),
    contracts: items.map(itemOf),
  };
  return jsonText(file);
}

const itemOf = (item: BasketItem): Item => ({
  id: item.id,
  ticker: item.ticker,
  segment: item.segment,
  spot_usd: unitsOf(item.now),
  base_usd: item.base && unitsOf(item.base),
  then_24h_usd: item.then24h && unitsOf(item.then24h),
  then_30d_usd: item.then30d && unitsOf(item.then30d),
  basis: item.basis,
  as_of: dateText(item.asOf),
  base_as_of: item.baseAsOf === null ? null : dateText(item.baseAsOf),
  reason: item.reason,
});

/** Reads the file. Throws ZodError or SyntaxError if it is not a basket file. */
export function parseBasketFile(bytes: Uint8Array): BasketFile {
  const file = basketFileSchema.parse(JSON.parse(textOf(bytes)));
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

function entryOf({ id, ticker, segment, basis, reason, ...fields }: Item): [string, BasketItem] {
  const levelOf = (usd: number | null): Micros | null => (usd === null ? null : microsOf(usd));
  const item = {
    id,
    ticker,
    segment,
    now: microsOf(fields.spot_usd),
    base: levelOf(fields.base_usd),
    then24h: levelOf(fields.then_24h_usd),
    then30d: levelOf(fields.then_30d_usd),
    basis,
    asOf: parseDate(fields.as_of) as Day,
    baseAsOf: fields.base_as_of === null ? null : (parseDate(fields.base_as_of) as Day),
    reason,
  };
  return [id, item];
}

/**
 * The body for a custom basket. `amounts[i]`, a positive integer, belongs to `items[i]`: its quantity in
 * units of 10⁻⁹ if `weighting` is `quantities`, otherwise its weight in any common scale, and each item has
 * a base. `overdueSessions` is added to the file's delay.
 */
export function basketBody(
  file: BasketFile,
  items: readonly BasketItem[],
  amounts: readonly bigint[],
  weighting: Weighting,
  overdueSessions: number,
): string {
  const priced =
    weighting === "quantities"
      ? quantityComposite(items, amounts)
      : composite(items.filter(isConstituent), amounts);
  const delayedSessions = file.envelope.delayedSessions + overdueSessions;
  const asked = { ...file.envelope, delayedSessions };
  const body: Body<typeof index> = indexFields(asked, BASKET, weighting, priced, []);
  return jsonText(body);
}
