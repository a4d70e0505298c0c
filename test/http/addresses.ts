/** The addresses of the service, from its tables of routes, with ids in place of `{id}`. */
import { TIERS, type TierName } from "../../src/market/tier.ts";
import { CONTRACT_ID } from "../../src/public/parameters.ts";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { PAGES, UNCOUNTED_ROUTES } from "../../src/public/uncounted-routes.ts";

/** Those with stored data that the tier has. */
export const dataPaths = (
  tier: TierName,
  contracts: readonly string[] = ["dram-0"],
  indices: readonly string[] = ["composite"],
): string[] =>
  Object.values(DATA_ROUTES)
    .filter(({ isOffered }) => isOffered(TIERS[tier], []))
    .flatMap(({ path, ...route }) => {
      const ids = "id" in route && route.id === CONTRACT_ID ? contracts : indices;
      return path.endsWith("{id}") ? ids.map((id) => path.replace("{id}", id)) : [path];
    });

/** The ones of services with keys for their log, or with a log that is long enough. */
const { logKeys, smallTile, largeTile } = UNCOUNTED_ROUTES;
const OF_SOME: readonly unknown[] = [logKeys, smallTile, largeTile];

/** Those that cost no call and that every service has; of the log its first entry. */
export const uncountedPaths = (caller: "everybody" | "key"): string[] =>
  Object.values(UNCOUNTED_ROUTES)
    .filter(({ isKeyed }) => isKeyed === (caller === "key"))
    .filter((route) => !OF_SOME.includes(route))
    .map(({ path }) => path.replace("{id}", "1"));

/** The pages, and the files of the reference. */
export const pagePaths = (contract = "dram-0"): string[] =>
  Object.values(PAGES).map(({ path }) => path.replace("{id}", contract));
