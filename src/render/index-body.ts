/** The bodies of indices and baskets, as JSON text. */
import type { ExclusionReason } from "../market/change.ts";
import { INDEX_BASE_LEVEL, type Composite, type Constituent } from "../market/composite.ts";
import { formatMicros } from "../market/decimal.ts";
import { dateText, dayOf, sessionYearBefore } from "../market/session.ts";
import { envelopeHead, type Envelope } from "./envelope.ts";
import { jsonArray } from "../lib/text.ts";

/** The name of a basket. */
export const BASKET = "basket";
/** The weights of the constituents: all equal, the caller's, or by the caller's quantities. */
export const WEIGHTINGS = ["equal", "custom", "quantities"] as const;
/** One of WEIGHTINGS. */
export type Weighting = (typeof WEIGHTINGS)[number];

/** The index that a body describes. */
interface IndexKind {
  readonly name: string;
  readonly weighting: Weighting;
}

/** The parts of a contribution that do not depend on the basket. */
export interface ConstituentText {
  /** Id, ticker and segment, from the opening brace on. */
  readonly identity: string;
  /** The level of the base and the level in force. */
  readonly levels: string;
  /** What these levels are, as the last fields; empty if that is not known. */
  readonly standing: string;
}

/** Makes the parts of a constituent, which are the same in every basket. */
export const constituentText = (item: Constituent): ConstituentText => ({
  identity:
    `{"id":${JSON.stringify(item.id)},"ticker":${JSON.stringify(item.ticker)},` +
    `"segment":${JSON.stringify(item.segment)}`,
  levels: `"base_usd":${formatMicros(item.base)},"spot_usd":${formatMicros(item.now)}`,
  standing:
    item.standing === undefined
      ? ""
      : `,"basis":"${item.standing.basis}","as_of":"${dateText(item.standing.asOf)}",` +
        `"base_as_of":"${dateText(item.standing.baseAsOf)}"`,
});

/** The part of the body before the figures. */
export function indexHead(envelope: Envelope, { name, weighting }: IndexKind): string {
  const base = {
    date: dateText(dayOf(sessionYearBefore(envelope.session))),
    level: INDEX_BASE_LEVEL,
  };
  return (
    `${envelopeHead(envelope)},"name":"${name}","weighting":"${weighting}",` +
    `"base":${JSON.stringify(base)}`
  );
}

/** A contract on the board that is no constituent. */
export interface Excluded {
  readonly id: string;
  readonly reason: ExclusionReason;
}

/**
 * The fields of the body after its `indexHead`, without the closing brace. Decimals are copied digit by
 * digit, because floating point could change them.
 */
export function indexFields(
  result: Composite,
  excluded: readonly Excluded[],
  textOf: (item: Constituent) => ConstituentText = constituentText,
): string {
  const contributions = result.contributions.map((item) => {
    const { identity, levels, standing } = textOf(item.constituent);
    const quantity = item.quantity === undefined ? "" : `,"quantity":${item.quantity}`;
    return (
      `${identity}${quantity},"weight_pct":${item.weightPct},${levels},"relative":${item.relative},` +
      `"contribution":${item.contribution},` +
      `"contribution_24h_pct":${item.contribution24hPct}${standing}}`
    );
  });
  return (
    `"level":${result.level},"chg_24h_pct":${result.chg24hPct},` +
    `"chg_30d_pct":${result.chg30dPct},${costFields(result)}"constituents":${contributions.length},` +
    `${carriedField(result)}"contributions":${jsonArray(contributions)},` +
    `"excluded":${jsonArray(excluded.map(({ id, reason }) => JSON.stringify({ id, reason })))}`
  );
}

/** What the quantities cost; empty if the weights are not quantities. */
function costFields({ costs }: Composite): string {
  if (costs === undefined) return "";
  return (
    `"cost_usd":${costs.now},"cost_base_usd":${costs.base},` +
    `"cost_24h_usd":${costs.then24h},"cost_30d_usd":${costs.then30d},`
  );
}

/** How many constituents have no level for the session; empty if an older version published them. */
function carriedField({ contributions }: Composite): string {
  const standings = contributions.map(({ constituent }) => constituent.standing);
  if (standings.includes(undefined)) return "";
  return `"carried":${standings.filter((standing) => standing?.basis === "carried").length},`;
}
