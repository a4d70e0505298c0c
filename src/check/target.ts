/** The address to check: the answer, and the file of the tier that it must be. */
import { InputError } from "../lib/errors.ts";
import { shownLocation } from "../lib/secrets.ts";
import { slugOf } from "../market/indices.ts";
import { FULLEST } from "../market/tier.ts";
import { faultsDenial, holdsKey, nameFaults, namesAny, parseQuery } from "../public/query.ts";
import {
  API,
  DATA_ROUTES,
  idIn,
  isExact,
  isOfIndex,
  parametersOf,
  type DataRoute,
} from "../public/routes.ts";
import { readVintage, type VintageQuery } from "../core/find/vintage.ts";

/** An answer of a service. */
export interface Target {
  /** The service's address, without a slash at its end. */
  readonly base: string;
  /** Path and query of the answer, below `base`. */
  readonly path: string;
  /** The file in the tier's folder; null: the answer is computed, as a basket is, or lines of a file. */
  readonly file: string | null;
  /** The publication that the answer must be of. */
  readonly vintage: VintageQuery;
}

/** The instant of the newest head. */
export const LIVE = { kind: "instant", asOfMs: Infinity, isFixed: false } as const;

/**
 * Reads the address of a service, whose board is then the answer, or the address of one answer with data.
 * Throws InputError.
 */
export function readTarget(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw urlError(text, "expected an address such as https://prices.example.com");
  }
  const query = parseQuery(url.search.slice(1));
  // After a password with a `/` or `?`, a parser takes the real host for a path or a query.
  if (text.includes("@") || holdsKey(query)) {
    throw new InputError("The address seems to contain a key: give it with --key");
  }
  const at = url.pathname.indexOf(`${API}/`);
  const prefix = at === -1 ? url.pathname.replace(/\/+$/, "") : url.pathname.slice(0, at);
  const base = url.origin + prefix;
  const sent = at === -1 ? DATA_ROUTES.board.path : url.pathname.slice(at);
  const routes: readonly DataRoute[] = Object.values(DATA_ROUTES);
  const route = routes.find(({ path }) => isExact(sent, path));
  if (route === undefined) {
    throw urlError(text, `expected one of ${routes.map(({ path }) => path).join(", ")}`);
  }
  // The service knows what its present is. A parameter that it does not take might get lost on the way.
  const faults = nameFaults(query, parametersOf(route));
  const vintage = readVintage(query, Infinity, faults) ?? LIVE;
  const denial = faultsDenial(faults);
  if (denial !== null) throw urlError(text, denial.detail);
  const { selectedBy = [], computedBy = [] } = route;
  const isWhole = !namesAny(query, [...selectedBy, ...computedBy]);
  const tier = FULLEST;
  const id = idIn(sent, route.path);
  // An index may be asked for by its name, of which its id is made.
  const fileId = isOfIndex(route) ? slugOf(id) : id;
  const file = route.file(tier.name, fileId).slice(`${tier.name}/`.length);
  return {
    base,
    path: sent + url.search,
    file: isWhole ? file : null,
    vintage,
  };
}

const urlError = (text: string, expected: string): InputError =>
  new InputError(`URL ${JSON.stringify(shownLocation(text))}: ${expected}`);
