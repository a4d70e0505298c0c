/**
 * What a request means for an entity, from its header fields alone: which coding (RFC 9110, 12.5.3),
 * whether its preconditions hold (13), and whether a part of it is asked for (14). Nothing is counted or
 * sent here, and no body is needed for it. Fields that are lists are split, and at most 32 elements are read:
 * a regular expression with two ways to match the same text would take quadratic time.
 */
import { cacheOf } from "../../lib/caches.ts";
import { countFields, fieldIn, type Ask, type FieldsByName } from "../ask.ts";
import type { Entity, Forms, Validators } from "./entity.ts";
import type { ByteRange } from "./stream.ts";

type Request = Pick<Ask, "method" | "headers">;
type Conditional = Pick<Ask, "headers" | "rawHeaders">;

/** What to answer with: the entity, or the range of its bytes; 416 has no bytes of it. */
export type Intent =
  | { readonly entity: Entity; readonly status: 200 }
  | { readonly entity: Entity; readonly status: 206; readonly range: ByteRange }
  | { readonly entity: Entity; readonly status: 416 };

/** The part of these forms that the request means, once its preconditions hold. */
export function intentOf(forms: Forms, request: Request): Intent {
  const { identity, gzip } = forms;
  const range = requestedRange(identity, request);
  if (range === null) {
    const isCoded = gzip !== undefined && prefersGzip(fieldIn(request.headers, "accept-encoding"));
    return { entity: isCoded ? gzip : identity, status: 200 };
  }
  if (range === "unsatisfiable") return { entity: identity, status: 416 };
  return { entity: identity, status: 206, range };
}

/** An answer without the entity: 304, which repeats fields of it, or 412. */
export type Stop = { readonly status: 304; readonly form: Validators } | { readonly status: 412 };

/**
 * What the request's preconditions come to, in the order of RFC 9110, 13.2.2; null: the entity is to be sent.
 * If-Match and If-Unmodified-Since fail with 412. If-None-Match and If-Modified-Since mean that the caller
 * has the entity already. `forms` are those that may be sent: all count where the coding is not known yet.
 */
export function stopOf(
  forms: readonly [Validators, ...Validators[]],
  request: Conditional,
): Stop | null {
  const match = fieldIn(request.headers, "if-match");
  const noneMatch = fieldIn(request.headers, "if-none-match");
  const [form] = forms;
  if (match !== undefined) {
    if (matching(match, forms, isSame) === undefined) return { status: 412 };
  } else if (isModifiedSince(form, request, "if-unmodified-since") === true) {
    return { status: 412 };
  }
  if (noneMatch !== undefined) {
    const held = matching(noneMatch, forms, isSameWeakly);
    return held === undefined ? null : { status: 304, form: held };
  }
  const isHeld = isModifiedSince(form, request, "if-modified-since") === false;
  return isHeld ? { status: 304, form } : null;
}

/** The forms of which one will be sent to a caller who accepts these codings, the likeliest first. */
export const likelyForms = (
  { identity, gzip }: Forms<Validators>,
  headers: FieldsByName,
): readonly [Validators, ...Validators[]] =>
  gzip !== undefined && prefersGzip(fieldIn(headers, "accept-encoding"))
    ? [gzip, identity]
    : [identity];

const ELEMENTS_MAX = 32;

/** The first elements of a list in a header field (RFC 9110, 5.6.1), trimmed. */
const elementsOf = (field: string): string[] =>
  field.split(",", ELEMENTS_MAX).map((element) => element.trim());

/** The first of the forms that a list of entity tags, or `*`, names. Our tags have no comma. */
function matching(
  field: string,
  forms: readonly Validators[],
  is: (element: string, etag: string) => boolean,
): Validators | undefined {
  const [first] = forms;
  if (field === first?.etag) return first;
  const elements = elementsOf(field);
  if (elements.length === 1 && elements[0] === "*") return first;
  return forms.find(({ etag }) => elements.some((element) => is(element, etag)));
}

/** The strong and the weak comparison of tags (RFC 9110, 8.8.3.2); ours are strong. */
const isSame = (element: string, etag: string): boolean => element === etag;
const isSameWeakly = (element: string, etag: string): boolean =>
  element === etag || element === `W/${etag}`;

/**
 * Whether the entity is younger than the date in the field, in whole seconds; null: the entity has no date, or the
 * field is not exactly one.
 */
function isModifiedSince(
  { modifiedMs }: Validators,
  request: Conditional,
  name: "if-modified-since" | "if-unmodified-since",
): boolean | null {
  const field = fieldIn(request.headers, name);
  if (field === undefined || modifiedMs === null) return null;
  // Of two fields `headers` has the first.
  if (countFields(request.rawHeaders, name) !== 1) return null;
  const sinceMs = dateMs(field, modifiedMs);
  return sinceMs === null ? null : Math.floor(modifiedMs / 1000) * 1000 > sinceMs;
}

const MONTH = "(?<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const TIME = String.raw`(?<time>\d\d:\d\d:\d\d)`;
/** The three forms of a date (RFC 9110, 5.6.7). The day of the week is not compared with the date. */
const DATE_FORMS = [
  String.raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d\d) ${MONTH} (?<year>\d{4}) ${TIME} GMT`,
  String.raw`(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d\d)-${MONTH}-(?<year>\d\d) ${TIME} GMT`,
  String.raw`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${MONTH} (?<day>[ \d]\d) ${TIME} (?<year>\d{4})`,
].map((form) => new RegExp(`^${form}$`));

/** The instant of a date in a field (epoch milliseconds); null: it is none. `nowMs` names the present century. */
function dateMs(text: string, nowMs: number): number | null {
  for (const form of DATE_FORMS) {
    const { day = "", month, year = "", time } = form.exec(text)?.groups ?? {};
    if (day === "") continue;
    const inFull = year.length === 4 ? year : fullYear(year, nowMs);
    const ms = Date.parse(`${day} ${month} ${inFull} ${time} GMT`);
    // Date.parse takes 31 November for 1 December.
    return new Date(ms).getUTCDate() === Number(day) ? ms : null;
  }
  return null;
}

/** The year that ends with two digits, at most 50 years from now (RFC 9110, 5.6.7). */
function fullYear(digits: string, nowMs: number): number {
  const now = new Date(nowMs).getUTCFullYear();
  const year = now - (now % 100) + Number(digits);
  return year > now + 50 ? year - 100 : year;
}

/** Whether the request has `If-None-Match: *`, which matches any entity. */
export const asksForAny = (headers: FieldsByName): boolean =>
  fieldIn(headers, "if-none-match")?.trim() === "*";

/** Whether If-Match or If-None-Match names tags, and none of them asks for any. */
export function namesTags(headers: FieldsByName): boolean {
  const fields = ["if-match", "if-none-match"].map((name) => fieldIn(headers, name)?.trim());
  return fields.some((field) => field !== undefined) && !fields.includes("*");
}

/** One range (RFC 9110, 14.1.1). */
const ONE_RANGE = /^(\d*)-(\d*)$/;
const RANGE_UNIT = "bytes=";

/**
 * What Range asks for in a file of `sizeBytes`. Null: the whole file. That is also the answer to
 * several ranges, another unit and a malformed field, which a server may ignore (RFC 9110, 14.2).
 */
function parseRange(field: string, sizeBytes: number): ByteRange | "unsatisfiable" | null {
  const unit = field.slice(0, RANGE_UNIT.length);
  const list = field.slice(RANGE_UNIT.length);
  // A list may have empty elements (5.6.1.2), and begins with none of its blanks.
  const ranges = elementsOf(list).filter((element) => element !== "");
  const parts = ONE_RANGE.exec(ranges[0] ?? "");
  if (unit.toLowerCase() !== RANGE_UNIT || ranges.length > 1 || list.startsWith(" ")) return null;
  if (parts === null) return null;
  const [, from = "", to = ""] = parts;
  if (from === "") {
    if (to === "") return null;
    if (Number(to) === 0) return "unsatisfiable";
    // The last bytes of an empty file: content-range has no form for that part.
    if (sizeBytes === 0) return null;
    return { first: Math.max(0, sizeBytes - Number(to)), last: sizeBytes - 1 };
  }
  const first = Number(from);
  const last = to === "" ? Infinity : Number(to);
  if (last < first) return null;
  return first < sizeBytes ? { first, last: Math.min(last, sizeBytes - 1) } : "unsatisfiable";
}

/**
 * The range that the request asks for. Null: the whole entity, because of its accept-ranges or of the
 * field, or because If-Range names another one (RFC 9110, 13.1.5: the strong tag, or exactly the date
 * of Last-Modified).
 */
function requestedRange(
  { etag, fields, sizeBytes }: Entity,
  { method, headers }: Request,
): ByteRange | "unsatisfiable" | null {
  const range = fieldIn(headers, "range");
  if (range === undefined || method !== "GET") return null;
  const ifRange = fieldIn(headers, "if-range");
  const { "accept-ranges": unit, "last-modified": modified } = fields;
  const isNamed = ifRange === undefined || ifRange === etag || ifRange === modified;
  return unit === "bytes" && isNamed ? parseRange(range, sizeBytes) : null;
}

/**
 * Whether gzip is accepted and weighs no less than identity. A caller that accepts neither gets identity: RFC 9110,
 * 12.5.3, lets a server ignore the field.
 */
export function prefersGzip(acceptEncoding = ""): boolean {
  const known = preferences.get(acceptEncoding);
  if (known !== undefined) return known;
  const weights = parseWeights(acceptEncoding);
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  const isPreferred = gzip > 0 && gzip >= (weights.get("identity") ?? 0);
  if (acceptEncoding.length <= FIELD_CHARACTERS_MAX) preferences.set(acceptEncoding, isPreferred);
  return isPreferred;
}

/** Nearly all requests have one of a few values of the field, and a short one. */
const preferences = cacheOf<boolean>(100);
const FIELD_CHARACTERS_MAX = 100;

/** A weight (RFC 9110, 12.4.2), also one above 1. */
const WEIGHT = /^q=([01](?:\.\d{0,3})?)$/;

/**
 * The weights that an Accept… field gives, by lower-case item. Skips items with an invalid weight or with
 * other parameters; a weight above 1 counts as 1.
 */
export function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const element of elementsOf(header.toLowerCase())) {
    const [item = "", ...parameters] = element.split(";", 3).map((part) => part.trim());
    if (parameters.length > 1) continue;
    const [parameter] = parameters;
    const weight = parameter === undefined ? "1" : WEIGHT.exec(parameter)?.[1];
    if (weight !== undefined) weights.set(item, Math.min(1, Number(weight)));
  }
  return weights;
}
