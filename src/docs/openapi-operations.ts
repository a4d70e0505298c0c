/** The operations of the OpenAPI document and of the reference: what follows from the routes and the table of problems. */
import { KEYLESS, TIER_NAMES, TIERS } from "../market/tier.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "../public/problems.ts";
import {
  DATA_ROUTES,
  hasHistory,
  namesBoth,
  namesIndices,
  SUMS_ROUTE,
  TAGS,
  takenBy,
  type Body,
  type DataRoute,
  type Route,
} from "../public/routes.ts";
import type { Parameter } from "../public/parameters.ts";
import { UNCOUNTED_ROUTES } from "../public/uncounted-routes.ts";
import {
  examplesAt,
  headerRefs,
  problemExamples,
  ref,
  type HeaderName,
  type Json,
} from "./openapi-components.ts";
import { runnable } from "./recorded-answers.ts";

/** Refusals that any route can give. */
const ANY_PROBLEMS: readonly ProblemCode[] = [
  "method_not_allowed",
  "key_in_query",
  "bad_request",
  "request_timeout",
  "headers_too_large",
  "internal",
];
/** Refusals that any route with a key can give. */
const KEY_PROBLEMS: readonly ProblemCode[] = [
  ...ANY_PROBLEMS,
  "invalid_key",
  "key_suspended",
  "trial_lapsed",
  "state_unavailable",
  "unknown_parameter",
];
/** Refusals that any route of data can give. */
const DATA_PROBLEMS: readonly ProblemCode[] = [
  ...KEY_PROBLEMS,
  "no_session",
  "invalid_parameter",
  "key_required",
  "tier_required",
  "not_published",
  "pruned",
  "busy",
  "not_in_snapshot",
  "quota_exceeded",
];

const STAMP: readonly HeaderName[] = [
  "x-session-utc",
  "x-delayed-sessions",
  "x-snapshot",
  "x-publication",
];

const stampOf = (route: DataRoute): readonly HeaderName[] => [
  ...STAMP,
  ...(hasHistory(route) ? (["x-history-from"] as const) : []),
  ...("text" in route.body && takes(route, "ids") ? (["x-asked"] as const) : []),
];

/** The routes in the document, in its order: every address except pages. */
export const documentedRoutes = (): Route[] => TAGS.flatMap(({ name }) => documentedIn(name));

/** The routes of a group. */
export function documentedIn(tag: Route["tag"]): Route[] {
  const { publications, entry, ...others } = UNCOUNTED_ROUTES;
  const ofLog = [publications, SUMS_ROUTE, entry];
  const routes: Route[] = [...ofLog, ...Object.values(DATA_ROUTES), ...Object.values(others)];
  return routes.filter((route) => route.tag === tag);
}

export const paths = (): Json =>
  Object.fromEntries(documentedRoutes().map((route) => [route.path, { get: operationOf(route) }]));

const isData = (route: Route): route is DataRoute => "isOffered" in route;

function operationOf(route: Route): Json {
  const { operationId, summary, tag, isKeyed } = route;
  const description = aboutOf(route);
  const parameters = parametersFor(route);
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    ...(!isKeyed && { security: [{}] }),
    ...(parameters.length > 0 && { parameters }),
    responses: responses(route),
  };
}

/** The tiers that may ask, and the route's own description. */
export function aboutOf(route: Route): string | undefined {
  if (!isData(route)) return route.description;
  const offered = TIER_NAMES.filter((name) => route.isOffered(TIERS[name], []));
  const titles = offered.map((name) => (name === KEYLESS.name ? "no key" : TIERS[name].title));
  const tiers = `Tiers: ${titles.join(", ")}.`;
  return [tiers, route.description ?? []].flat().join(" ");
}

const parametersFor = (route: Route): Json[] => [
  ...(route.id === undefined ? [] : [parameterIn("path", route.id)]),
  ...takenBy(route).map((parameter) => parameterIn("query", parameter)),
];

function parameterIn(place: "path" | "query", { example, ...about }: Parameter): Json {
  return {
    ...about,
    in: place,
    ...(place === "path" && { required: true }),
    ...(about.schema.type === "array" && { style: "form", explode: false }),
    example: JSON.parse(runnable(JSON.stringify(example))),
  };
}

function responses(route: Route): Json {
  const { path, answer, body, fields = [] } = route;
  const data = isData(route) ? route : null;
  const stamp = data === null ? [] : stampOf(data);
  const hasParts = data?.download === "parts";
  const ofDownload: readonly HeaderName[] =
    data?.download === undefined ? [] : ["content-disposition", "accept-ranges"];
  const headers = [...stamp, ...fields, ...ofDownload];
  const counted = data === null ? "Not counted" : "Counted only where it answers If-None-Match: *";
  return {
    200: {
      description: answer,
      headers: headerRefs(headers),
      content: contentOf(body, examplesAt(path)),
    },
    ...(hasParts && {
      206: {
        description: "The one part that Range asks for (RFC 9110, 14). Counted as one call.",
        headers: headerRefs([...headers, "content-range"]),
        content: contentOf(body, {}),
      },
    }),
    ...(fields.length > 0 && {
      304: {
        description: `Not changed. ${counted}.`,
        headers: headerRefs([...stamp, "etag"]),
      },
    }),
    ...(route.id !== undefined && { 308: RENAMED }),
    ...problems(problemsOf(route)),
  };
}

/** The codes of all problems that a route can answer with, by status. Faults of parameters are 400 throughout. */
export function problemsOf(route: Route): ReadonlyMap<number, readonly ProblemCode[]> {
  const { isKeyed, refusals = [], fields = [] } = route;
  const data = isData(route) ? route : null;
  const usual = isKeyed ? KEY_PROBLEMS : ANY_PROBLEMS;
  const codes = [
    ...(data === null ? usual : DATA_PROBLEMS),
    ...refusals,
    ...(fields.length > 0 ? (["precondition_failed"] as const) : []),
    ...(data?.download === "parts" ? (["range_not_satisfiable"] as const) : []),
  ];
  const byStatus = new Map<number, ProblemCode[]>();
  const add = (status: number, code: ProblemCode): void => {
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  };
  for (const code of new Set(codes)) add(PROBLEMS[code].status, code);
  for (const code of data === null ? [] : refusalsOfIds(data)) add(400, code);
  return byStatus;
}

const takes = (route: DataRoute, name: string): boolean =>
  takenBy(route).some((parameter) => parameter.name === name);

/** The codes of refusals for ids in parameters. */
function refusalsOfIds(route: DataRoute): ProblemCode[] {
  const isBasket = takes(route, "weights");
  const takesSegment = takes(route, "segment");
  return [
    ...(isBasket || takesSegment || namesBoth(route) ? (["unknown_contract"] as const) : []),
    ...(takesSegment || namesIndices(route) ? (["unknown_index"] as const) : []),
    ...(route.hasBoards === true || isBasket ? (["not_on_board"] as const) : []),
  ];
}

const RENAMED: Json = {
  description:
    "The contract or index has another id now, or the contract had another one then. Not counted.",
  headers: {
    ...headerRefs([]),
    location: {
      description: "Its address in the answer's publication.",
      schema: { type: "string" },
    },
  },
};

function contentOf(body: Body, examples: Json): Json {
  if ("json" in body) {
    return { "application/json": { schema: ref("schemas", body.json), ...examples } };
  }
  if ("text" in body) return { [body.text]: { schema: { type: "string" }, ...examples } };
  return { [body.binary]: { schema: { type: "string", format: "binary" } } };
}

/** The header fields that tell how to go on, by status. */
const REFUSED_WITH: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ["www-authenticate"],
  405: ["allow"],
  416: ["content-range"],
  429: ["retry-after"],
  503: ["retry-after"],
};

/** One response a status, naming the codes it can have. */
const problems = (byStatus: ReadonlyMap<number, readonly ProblemCode[]>): Json =>
  Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      status,
      {
        description: found.map((code) => `\`${code}\`: ${PROBLEMS[code].meaning}`).join("\n\n"),
        headers: headerRefs(REFUSED_WITH[status] ?? []),
        content: {
          [PROBLEM_MEDIA_TYPE]: {
            schema: ref("schemas", "Problem"),
            ...problemExamples(status, found),
          },
        },
      },
    ]),
  );
