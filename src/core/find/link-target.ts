/**
 * Links: addresses below /l/ that read one file of an account without a header field, for programs that can
 * send none. A link holds a token like a key's. The state holds the account and the file.
 */
import { InputError } from "../../lib/errors.ts";
import { TIERS, type TierName } from "../../market/tier.ts";
import { KEY_PREFIX, LINK_PREFIX } from "../../lib/secrets.ts";
import { VINTAGE } from "../../public/parameters.ts";
import {
  faultsDenial,
  holdsKey,
  nameFaults,
  namesAny,
  parseQuery,
  type Query,
} from "../../public/query.ts";
import { API, DATA_ROUTES, parametersOf, type DataRoute } from "../../public/routes.ts";
import { readSelection } from "./selection.ts";
import { readVintage } from "./vintage.ts";

/** The files that a link can read: those that spreadsheets open. */
const LINKED = Object.values(DATA_ROUTES).filter(({ path }) => /\.(?:csv|xlsx)$/.test(path));

const ADDRESS = new RegExp(`^/l/(${LINK_PREFIX}[0-9A-Za-z]+)(\\.[a-z]+)$`);

/** What a link reads: the route, and the path and the query as a caller with a key would send them. */
export interface LinkTarget {
  readonly route: DataRoute;
  readonly path: string;
  readonly query: Query;
}

/** The target of a link's path in the state, such as `/export.csv?ids=a`; undefined: no file has it. */
export function targetOf(linkPath: string): LinkTarget | undefined {
  const [name, query = ""] = linkPath.split(/\?(.*)/s);
  const route = LINKED.find(({ path }) => path === API + name);
  return route && { route, path: route.path, query: parseQuery(query) };
}

/**
 * The path of a link as the state holds it. The text may begin as the address does, with the API's path.
 * Throws InputError for a path that no link reads, and for faults of its parameters' form.
 */
export function parseLinkPath(text: string, nowMs: number): string {
  const path = text.startsWith(`${API}/`) ? text.slice(API.length) : text;
  const target = targetOf(path);
  const hasSecret = text.includes(KEY_PREFIX) || text.includes(LINK_PREFIX);
  if (hasSecret || holdsKey(target?.query ?? [])) {
    throw new InputError("The path seems to contain an API key or a link");
  }
  if (target === undefined) {
    const names = LINKED.map((route) => route.path.slice(API.length)).join(", ");
    throw new InputError(
      `Path ${JSON.stringify(text)}: expected one of ${names}, and its parameters`,
    );
  }
  const { route, query } = target;
  const faults = nameFaults(query, parametersOf(route));
  readSelection(route, query, faults);
  if (namesAny(query, VINTAGE)) readVintage(query, nowMs, faults);
  const denial = faultsDenial(faults);
  if (denial !== null) throw new InputError(`Path ${JSON.stringify(text)}: ${denial.detail}`);
  return path;
}

/** Whether the tier may read the file of a link's path. */
export function isOffered(path: string, tier: TierName): boolean {
  const target = targetOf(path);
  return target !== undefined && target.route.isOffered(TIERS[tier], target.query);
}

export const linkAddress = (token: string, path: string): string =>
  `/l/${token}${extensionOf(targetOf(path))}`;

/** Whether a token may be in an address, of whatever form. */
export const isLink = (path: string): boolean => path.startsWith("/l/");

/** The token in an address; null: it has the form of no link. */
export const tokenIn = (path: string): string | null => ADDRESS.exec(path)?.[1] ?? null;

/** Whether the address ends as its target does. */
export const fits = (path: string, target: LinkTarget): boolean =>
  path.endsWith(extensionOf(target));

const extensionOf = (target: LinkTarget | undefined): string =>
  target === undefined ? "" : target.path.slice(target.path.lastIndexOf("."));
