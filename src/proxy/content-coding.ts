/** Content codings (RFC 9110, 8.4 and 12.5.3): which form of a body to send. See coder.ts. */

/** How a body is coded on the way; identity: as it is. */
export type Coding = "br" | "gzip" | "identity";

/** A strong entity tag (RFC 9110, 8.8.3) of what `root` stands for: another for each coding. */
export const etagOf = (root: string, coding: Coding): string =>
  `"${root}${coding === "identity" ? "" : `-${coding}`}"`;

/** What the proxy makes, best first. */
const MADE = ["br", "gzip"] as const;

/** Headers whose reading is remembered: clients send a few dozen different ones. */
const REMEMBERED_HEADERS = 256;
const REMEMBERED_MAX_CHARACTERS = 256;
const orders = new Map<string, readonly Coding[]>();

/**
 * The coding to answer with, of those in `forms` (identity always is). The highest weight wins; of
 * equal weights br, then gzip, then identity. No header: identity. Where nothing there is would be
 * acceptable, identity: RFC 9110 lets a server ignore the field rather than fail.
 */
export function chooseCoding(
  acceptEncoding: string | undefined,
  forms: ReadonlyMap<Coding, unknown>,
): Coding {
  if (acceptEncoding === undefined || acceptEncoding === "") return "identity";
  let order = orders.get(acceptEncoding);
  if (order === undefined) {
    order = orderOf(acceptEncoding);
    if (acceptEncoding.length <= REMEMBERED_MAX_CHARACTERS) {
      if (orders.size >= REMEMBERED_HEADERS) orders.clear();
      orders.set(acceptEncoding, order);
    }
  }
  for (const coding of order) if (coding === "identity" || forms.has(coding)) return coding;
  return "identity";
}

/** What is acceptable, best first. */
function orderOf(acceptEncoding: string): readonly Coding[] {
  const weights = parseWeights(acceptEncoding);
  const rest = weights.get("*");
  // Identity not mentioned is acceptable, but anything asked for by name is preferred to it.
  const identity = weights.get("identity") ?? (rest === 0 ? 0 : Number.MIN_VALUE);
  const weighted = MADE.map((coding): [Coding, number] => {
    const named = weights.get(coding) ?? (coding === "gzip" ? weights.get("x-gzip") : undefined);
    return [coding, named ?? rest ?? 0];
  });
  return [...weighted, ["identity", identity] as [Coding, number]]
    .filter(([, weight]) => weight > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([coding]) => coding);
}

const ITEM = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:;\s*[qQ]=([01](?:\.\d{0,3})?)\s*)?$/;

/** Items that are none (RFC 9110, 12.4.2) are left out; a weight above 1 counts as 1. */
function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.split(",")) {
    const parts = ITEM.exec(item);
    if (parts === null) continue;
    const weight = parts[2] === undefined ? 1 : Math.min(1, Number(parts[2]));
    weights.set((parts[1] as string).toLowerCase(), weight);
  }
  return weights;
}
