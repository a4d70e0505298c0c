/** Secrets within texts that are published, or shown in messages. A published text stays public for ever. */
import { cut, decoded } from "./text.ts";

/** The start of every key. */
export const KEY_PREFIX = "cbk_";
/** The start of every token of a link. */
export const LINK_PREFIX = "lnk_";

/** User and password of an address, also of one that cannot be parsed. */
const USER = /(:[/\\]+)(?:[^/\\?#\s@]+@)+/g;
/** A parameter of a query or of a fragment, with its value. */
const PARAMETER = /(?<=[?&;#])([^\s?&;#=]+)=([^\s?&;#]+)/g;
/** A key or a link of chipboard. */
const OWN_KEY = /\b(cbk|lnk)_[0-9A-Za-z]{20,}/g;

/** The last word of a parameter's name: `api_key`, `X-Amz-Signature`, `accessToken`. */
const SECRET_WORD =
  /^(?:key|token|secret|sig|signature|hmac|pass|passwd|password|passphrase|pwd|auth|authorization|credentials?|jwt|bearer)$/;
/** The end of a name that is written in one word: `apikey`, `AWSAccessKeyId`. */
const SECRET_END =
  /(?:(?:api|app|access|auth|client|license|licence|private|registration|secret|service|session|shared|subscription|user)key(?:id)?|token|secret|signature|password|passwd)$/;

/** The part of a parameter's name that is told. */
const NAME_CHARACTERS = 100;

/** A location that is meant as an address, also one that is mistyped: no folder has such a name. */
export const isAddress = (location: string): boolean =>
  /:\/\/|^\W*(?:rediss?|s3|https?):/i.test(location);

/** Host, port and path; of a Redis the path is a number. */
const PLACE = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?/i;
export const REST_OF_REDIS = /^(?:\/\d{0,5})?(?:\?family=\d)?$/;
const REST_OF_BUCKET = /^(?:\/[\w./-]*)?$/;

/**
 * The location for messages. A password may hold signs that end the host for a parser, so everything up to the last
 * `@` is hidden. After it, the address of a Redis or of a bucket is shown only if it has its proper form. Folders stay
 * as they are.
 */
export function shownLocation(location: string): string {
  const [, scheme = "", rest = ""] = /^([^:]*:[/\\]*)(.*)$/s.exec(location) ?? [];
  if (!isAddress(location)) return location;
  const at = rest.lastIndexOf("@");
  const place = rest.slice(at + 1);
  const hidden = at < 0 ? "" : "***@";
  if (!/^\W*(?:rediss?|s3):/i.test(scheme)) return withoutSecrets(scheme + hidden + place);
  const end = /^\W*s3:/i.test(scheme) ? REST_OF_BUCKET : REST_OF_REDIS;
  const isProper = PLACE.test(place) && end.test(place.replace(PLACE, ""));
  return scheme + hidden + (isProper ? place : "***");
}

/** What the text holds that must not be published, in words; null: nothing is found. */
export function secretIn(text: string): string | null {
  let found: string | null = null;
  hide(text, (words) => (found ??= words));
  return found;
}

/** The text with `***` in the place of each secret, for messages. */
export const withoutSecrets = (text: string): string => hide(text, () => undefined);

/** How much of a long text is searched. A message shows less of it. */
const SEARCHED_CHARACTERS = 1_000;
/** The beginning of an address or of a key, which has a user or a password if it goes on. */
const UNFINISHED = /(:[/\\]+)[^/\\?#\s]*$|\b(?:cbk|lnk)_[0-9A-Za-z]*$/;

/**
 * The same of a text of any length and origin, shortened to `length` UTF-16 units, at most 1,000. Takes the same
 * time for all long texts.
 */
export function startWithoutSecrets(text: string, length: number): string {
  if (text.length <= SEARCHED_CHARACTERS) return cut(withoutSecrets(text), length);
  const start = text.slice(0, SEARCHED_CHARACTERS).replace(UNFINISHED, "$1***");
  return cut(`${withoutSecrets(start)}…`, length);
}

function hide(text: string, tell: (words: string) => void, isInner = false): string {
  // Most texts have none of these characters.
  if (!/[:=_]/.test(text)) return text;
  return text
    .replace(USER, (_, before: string) => {
      tell("a user or a password");
      return `${before}***@`;
    })
    .replace(PARAMETER, (whole: string, name: string, value: string) => {
      if (isSecretName(decoded(name))) {
        tell(`the parameter ${cut(decoded(name), NAME_CHARACTERS)}`);
        return `${name}=***`;
      }
      // An address within an address, which may be within another one for ever.
      const inner = isInner ? value : decoded(value);
      if (inner === value) return whole;
      const hidden = hide(inner, tell, true);
      return hidden === inner ? whole : `${name}=${hidden}`;
    })
    .replace(OWN_KEY, (_, kind: string) => {
      tell(kind === "cbk" ? "an API key" : "a link with its token");
      return `${kind}_***`;
    });
}

function isSecretName(name: string): boolean {
  const words = name.replace(/(?<=[a-z\d])(?=[A-Z])/g, " ").toLowerCase();
  const last = words.match(/[a-z]+/g)?.at(-1) ?? "";
  return SECRET_WORD.test(last) || SECRET_END.test(words.replace(/[^a-z]/g, ""));
}
