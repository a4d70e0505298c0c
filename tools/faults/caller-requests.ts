/** Hostile requests that are well-formed HTTP: every reader takes each for exactly one request. */
import fc from "fast-check";
import type { TierName } from "../../src/market/tier.ts";
import { API } from "../../src/public/routes.ts";
import { credentials, wrongKeys, type Credential } from "./caller-keys.ts";
import { contractId, type Account } from "./caller-service.ts";
import {
  USUAL_PATHS,
  ODD_SEGMENTS,
  PIECES,
  KEY_NAMES,
  ORIGINS,
  CODINGS,
  DATES,
  ADDRESSES,
  ODD_FIELDS,
} from "./caller-words.ts";

export interface SentRequest {
  /** As sent, one character per byte (latin1). */
  readonly text: string;
  readonly isHead: boolean;
  /**
   * Whether no request may follow on the connection: the caller closes it, announces content
   * (100-continue) or asks for another protocol (Upgrade).
   */
  readonly closes: boolean;
  readonly tier: TierName | null;
  readonly secrets: readonly string[];
}

/** A request without its caller. */
export type Draft = (credential: Credential) => SentRequest;

/** What requests are made of. */
export interface Ingredients {
  readonly accounts: readonly Account[];
  readonly contracts: number;
  /** Entity tags of real answers. */
  readonly etags: readonly string[];
}

export const requests = (given: Ingredients): fc.Arbitrary<SentRequest> =>
  fc
    .tuple(drafts(given), credentials(given.accounts))
    .map(([draft, credential]) => draft(credential));

export function drafts(given: Ingredients): fc.Arbitrary<Draft> {
  const method = fc.oneof(
    { weight: 30, arbitrary: fc.constant("GET") },
    { weight: 4, arbitrary: fc.constant("HEAD") },
    { weight: 1, arbitrary: fc.constantFrom("OPTIONS", "POST", "PUT", "DELETE", "TRACE", "PURGE") },
  );
  const version = fc.oneof(
    { weight: 40, arbitrary: fc.constant("1.1") },
    { weight: 1, arbitrary: fc.constant("1.0") },
  );
  const host = fc.oneof(
    { weight: 30, arbitrary: fc.constant("Host: x") },
    {
      weight: 1,
      arbitrary: fc.constantFrom("Host:", "Host: a b", "Host: [::1", "Host: %", "X: y"),
    },
  );
  return fc
    .record({ method, target: targets(given), version, host, fields: fields(given) })
    .map(({ method: verb, target, version: number, host: first, fields: lines }) => {
      return ({ lines: own, tier, secrets }) => ({
        text: `${verb} ${target.text} HTTP/${number}\r\n${[first, ...lines, ...own].join("\r\n")}\r\n\r\n`,
        isHead: verb === "HEAD",
        closes: number === "1.0" || lines.some(isLast) || upgrades(lines),
        tier: target.tier === undefined ? tier : target.tier,
        secrets: [...secrets, ...target.secrets],
      });
    });
}

const isLast = (line: string): boolean =>
  line === "Connection: close" || line === "Expect: 100-continue";

const upgrades = (lines: readonly string[]): boolean =>
  lines.includes("Connection: Upgrade") && lines.some((line) => line.startsWith("Upgrade:"));

interface Target {
  readonly text: string;
  readonly secrets: readonly string[];
  /** The tier whose data it may get whatever key is sent; null: no data. Not given: the key's tier. */
  readonly tier?: TierName | null;
}

function targets(given: Ingredients): fc.Arbitrary<Target> {
  const plain = (text: string): Target => ({ text, secrets: [] });
  const id = fc.oneof(
    { weight: 6, arbitrary: fc.nat({ max: given.contracts + 1 }).map(contractId) },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_SEGMENTS) },
  );
  const usual = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...USUAL_PATHS) },
    { weight: 4, arbitrary: id.map((text) => `${API}/prices/${text}`) },
  );
  const amount = fc.constantFrom("1", "0.5", "3.25", "0", "-1", "1e3", "", "999999999.999999999");
  const ids = fc.array(id, { maxLength: 6 });
  const basket = fc
    .tuple(
      ids,
      fc.constantFrom("weights", "quantities"),
      fc.option(fc.array(amount, { maxLength: 6 })),
    )
    .map(([names, parameter, amounts]) => {
      const tail = amounts === null ? "" : `&${parameter}=${amounts.join(",")}`;
      return `${API}/index?ids=${names.join(",")}${tail}`;
    });
  const piece = fc.oneof(fc.constantFrom(...PIECES), VISIBLE);
  const path = fc.array(piece, { maxLength: 7 }).map((pieces) => `/${pieces.join("")}`);
  const query = fc.tuple(usual, VISIBLE, VISIBLE).map(([base, name, value]) => {
    return `${base}?${name}=${value}`;
  });
  const keyed = fc
    .tuple(usual, fc.constantFrom(...KEY_NAMES), keysIn(given))
    .map(([base, name, key]): Target => ({ text: `${base}?${name}=${key}`, secrets: [key] }));
  const keyedPath = keysIn(given).map((key): Target => {
    return { text: `${API}/prices/${key}`, secrets: [key] };
  });
  const linked = fc
    .tuple(fc.constantFrom(...given.accounts), fc.constantFrom(...LINK_CHANGES))
    .map(([{ link, tier }, changed]): Target => {
      const text = changed(link);
      return { text, secrets: [tokenOf(link), tokenOf(text)], tier: text === link ? tier : null };
    });
  const absolute = fc
    .tuple(fc.constantFrom(...ORIGINS), usual)
    .map(([origin, base]) => origin + base);
  const long = fc
    .tuple(usual, fc.constantFrom("x", "a=1&", "%00", "../", "item-0,"), fc.nat({ max: 900 }))
    .map(
      ([base, unit, times]) => `${base}${base.includes("?") ? "&" : "?"}ids=${unit.repeat(times)}`,
    );
  return fc.oneof(
    { weight: 30, arbitrary: usual.map(plain) },
    { weight: 8, arbitrary: basket.map(plain) },
    { weight: 8, arbitrary: path.map(plain) },
    { weight: 3, arbitrary: query.map(plain) },
    { weight: 3, arbitrary: keyed },
    { weight: 1, arbitrary: keyedPath },
    { weight: 6, arbitrary: linked },
    { weight: 3, arbitrary: absolute.map(plain) },
    { weight: 1, arbitrary: long.map(plain) },
    { weight: 1, arbitrary: fc.constantFrom("*", "/openapi.json").map(plain) },
  );
}

/** Links as they are, mistyped, cut off, with another ending, with a query. */
const LINK_CHANGES: readonly ((link: string) => string)[] = [
  (link) => link,
  (link) => link,
  (link) => link,
  (link) => link.replace(/.\.csv$/, "_.csv"),
  (link) => link.replace(/...\.csv$/, ".csv"),
  (link) => link.replace(".csv", ".xlsx"),
  (link) => link.toUpperCase(),
  (link) => `${link}?ids=item-0`,
  (link) => `${link}?key=${tokenOf(link)}`,
  (link) => `${API}${link}`,
];

const tokenOf = (link: string): string => /lnk_[^.?]*/i.exec(link)?.[0] ?? "";

const keysIn = ({ accounts }: Ingredients): fc.Arbitrary<string> =>
  fc.oneof(fc.constantFrom(...accounts.map(({ key }) => key)), wrongKeys(accounts));

function fields({ etags }: Ingredients): fc.Arbitrary<string[]> {
  const etag = fc.constantFrom(...etags, "*", '"x"', "W/", "\xff", '"', ",,,");
  const field = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...CODINGS).map((text) => `Accept-Encoding: ${text}`) },
    { weight: 3, arbitrary: etag.map((text) => `If-None-Match: W/"y", ${text}`) },
    { weight: 2, arbitrary: fc.constantFrom(...DATES).map((text) => `If-Modified-Since: ${text}`) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(...ADDRESSES).map((text) => `X-Forwarded-For: ${text}`),
    },
    { weight: 3, arbitrary: fc.constantFrom(...ODD_FIELDS) },
    { weight: 1, arbitrary: fc.nat({ max: 8_000 }).map((size) => `X-Large: ${"v".repeat(size)}`) },
    { weight: 1, arbitrary: fc.tuple(VISIBLE, VISIBLE).map(([a, b]) => `X-${token(a)}: ${b}`) },
  );
  const address = fc.nat({ max: 65_535 }).map((n) => `X-Forwarded-For: 10.1.${n >> 8}.${n & 255}`);
  // At most once: a repeated Content-Length makes a request malformed.
  const noBody = fc.constantFrom([], [], [], ["Content-Length: 0"]);
  return fc
    .tuple(address, noBody, fc.array(field, { maxLength: 5 }))
    .map(([from, length, others]) => [from, ...length, ...others]);
}

const token = (text: string): string => text.replace(/[^!#$%&'*+.^_`|~0-9A-Za-z-]/g, "-");

/** Printable ASCII. */
const VISIBLE = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  maxLength: 12,
});
