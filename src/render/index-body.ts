/** The fields that the bodies of indices and baskets share. */
import { exactly } from "../lib/json.ts";
import {
  INDEX_BASE_LEVEL,
  type Composite,
  type Contribution,
  type WithoutBase,
  type Weighting,
} from "../market/composite.ts";
import { unitsOf } from "../market/decimal.ts";
import { dateText, dayOf, sessionUtc, sessionYearBefore } from "../market/session.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import type { Body, index } from "./payload-schemas.ts";

/** All fields of a body but its series. */
export function indexFields<N extends string>(
  envelope: Envelope,
  name: N,
  weighting: Weighting,
  { level, chg24hPct, chg30dPct, costs, contributions }: Composite,
  excluded: readonly WithoutBase[],
): Omit<Body<typeof index>, "name"> & { name: N } {
  const base = sessionYearBefore(envelope.session);
  return {
    ...envelopeFields(envelope),
    name,
    weighting,
    base: {
      date: dateText(dayOf(base)),
      session_utc: sessionUtc(base),
      level: INDEX_BASE_LEVEL,
    },
    level: exactly(level),
    chg_24h_pct: exactly(chg24hPct),
    chg_30d_pct: exactly(chg30dPct),
    ...(costs && {
      cost_usd: exactly(costs.now),
      cost_base_usd: exactly(costs.base),
      cost_24h_usd: exactly(costs.then24h),
      cost_30d_usd: exactly(costs.then30d),
      without_base: [...costs.withoutBase],
    }),
    constituents: contributions.length,
    carried: contributions.filter(({ item }) => item.basis === "carried").length,
    contributions: contributions.map(contributionOf),
    excluded: [...excluded],
  };
}

function contributionOf(contribution: Contribution): Body<typeof index>["contributions"][number] {
  const { id, ticker, segment, base, now, basis, asOf, baseAsOf } = contribution.item;
  return {
    id,
    ticker,
    segment,
    ...(contribution.quantity && { quantity: exactly(contribution.quantity) }),
    weight_pct: exactly(contribution.weightPct),
    base_usd: base && unitsOf(base),
    spot_usd: unitsOf(now),
    relative: exactly(contribution.relative),
    contribution: exactly(contribution.contribution),
    contribution_24h_pct: exactly(contribution.contribution24hPct),
    basis,
    as_of: dateText(asOf),
    base_as_of: baseAsOf === null ? null : dateText(baseAsOf),
  };
}
