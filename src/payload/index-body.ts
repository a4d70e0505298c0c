/** The body of an index or basket response, as JSON text. */
import type { Composite } from "../market/composite.ts";
import { formatMicros } from "../market/decimal.ts";
import { dateText, dayOf, sessionYearBefore } from "../market/session.ts";
import type { ExclusionReason } from "../market/view.ts";
import { envelopeHead, type Envelope } from "./envelope.ts";

export const INDEX_BASE_LEVEL = 100;

export interface IndexKind {
  readonly name: "composite" | "basket";
  readonly weighting: "equal" | "custom";
}

/**
 * Decimals are written as they are, digit by digit: a detour through floating point could change
 * them.
 */
export function indexBody(
  envelope: Envelope,
  kind: IndexKind,
  result: Composite,
  excluded: readonly { readonly id: string; readonly reason: ExclusionReason }[],
): string {
  const base = {
    date: dateText(dayOf(sessionYearBefore(envelope.session))),
    level: INDEX_BASE_LEVEL,
  };
  const contributions = result.contributions.map(
    (item) =>
      `{"id":${JSON.stringify(item.id)},"ticker":${JSON.stringify(item.ticker)},` +
      `"segment":${JSON.stringify(item.segment)},"weight_pct":${item.weightPct},` +
      `"base_usd":${formatMicros(item.base)},"spot_usd":${formatMicros(item.now)},` +
      `"relative":${item.relative},"contribution":${item.contribution},` +
      `"contribution_24h_pct":${item.contribution24hPct}}`,
  );
  return (
    `${envelopeHead(envelope)},"name":"${kind.name}","weighting":"${kind.weighting}",` +
    `"base":${JSON.stringify(base)},"level":${result.level},"chg_24h_pct":${result.chg24hPct},` +
    `"chg_30d_pct":${result.chg30dPct},"constituents":${contributions.length},` +
    `"contributions":${lines(contributions)},` +
    `"excluded":${lines(excluded.map(({ id, reason }) => JSON.stringify({ id, reason })))}}\n`
  );
}

/** A JSON array with one item a line, so that people and `diff` can read stored files. */
export const lines = (items: readonly string[]): string =>
  items.length === 0 ? "[]" : `[\n${items.join(",\n")}\n]`;
