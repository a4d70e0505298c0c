/** What is asked for in a soak, and which stored file each tier must get. */
import type { TierName } from "../../src/market/tier.ts";
import { FILES } from "../../src/store/paths.ts";

const API = "/api/public/v1";

export interface Route {
  readonly path: string;
  /** `usage` is never charged; a basket is no stored file. */
  readonly kind: "file" | "basket" | "usage";
  /** The contract asked for. */
  readonly id: string | null;
  /** The file's path in the snapshot. */
  file(tier: TierName): string;
  /** The code of the refusal, or null where the tier has it. */
  refusal(tier: TierName): string | null;
}

export const PRICES = fileRoute("/prices", FILES.board, null);
export const INDEX = fileRoute("/index", FILES.index, "starter");
export const EXPORT_CSV = fileRoute("/export.csv", FILES.csv, "starter");
export const EXPORT_XLSX = fileRoute("/export.xlsx", FILES.xlsx, "pro");
export const USAGE: Route = { ...PRICES, path: `${API}/usage`, kind: "usage" };

export function contractRoute(id: string, isFree: boolean): Route {
  const route = fileRoute(
    `/prices/${id}`,
    (tier) => FILES.contract(tier, id),
    isFree ? null : "starter",
  );
  return { ...route, id };
}

/** A basket of these contracts, with these weights. */
export function basketRoute(ids: readonly string[], weights: readonly string[]): Route {
  const route = fileRoute("/index", FILES.index, "pro");
  const query = `ids=${ids.join(",")}&weights=${weights.join(",")}`;
  return { ...route, path: `${route.path}?${query}`, kind: "basket" };
}

/** What callers of a soak ask for; the contracts are on the free board, not on it, and seldom priced. */
export const LOAD_ROUTES: readonly Route[] = [
  PRICES,
  PRICES,
  INDEX,
  EXPORT_CSV,
  EXPORT_XLSX,
  basketRoute(["dram-1", "dram-12"], ["60", "40"]),
  contractRoute("dram-1", true),
  contractRoute("dram-12", false),
  contractRoute("wafer-20", false),
];

function fileRoute(
  path: string,
  file: (tier: string) => string,
  least: "starter" | "pro" | null,
): Route {
  const refusal = (tier: TierName): string | null => {
    if (least === null || tier === "pro") return null;
    if (tier === "free") return "key_required";
    return least === "pro" ? "tier_required" : null;
  };
  return { path: `${API}${path}`, kind: "file", id: null, file, refusal };
}
