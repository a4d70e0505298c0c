/** What a caller sends on one connection: requests, sometimes with malformed bytes among them. */
import fc from "fast-check";
import type { TierName } from "../../src/market/tier.ts";
import { API } from "../../src/public/routes.ts";
import { CONNECTION_LIMITS } from "../../src/lib/limits.ts";
import { credentials, type Credential } from "./caller-keys.ts";
import {
  drafts,
  requests,
  type Draft,
  type Ingredients,
  type SentRequest,
} from "./caller-requests.ts";

export interface Conversation {
  /** Bytes in the order sent; each piece is one write. */
  readonly pieces: readonly Buffer[];
  /** Number of requests sent, including malformed ones. */
  readonly sent: number;
  /**
   * The requests that the answers belong to, in order. Null if some bytes are malformed: then the
   * number of answers is unknown.
   */
  readonly requests: readonly SentRequest[] | null;
  /** The tiers whose data may be in the answers. Used if `requests` is null: each request has its own. */
  readonly tiers: ReadonlySet<TierName>;
  readonly secrets: readonly string[];
  /** `close`: the sender ends its side. `stay`: it waits. `stop`: it stops within a request. */
  readonly ending: "close" | "stay" | "stop";
}

export const conversations = (given: Ingredients): fc.Arbitrary<Conversation> =>
  fc.oneof(
    { weight: 60, arbitrary: orderly(given) },
    { weight: 60, arbitrary: garbled(given) },
    { weight: 1, arbitrary: broken(given) },
  );

/** Pipelined requests that must all be answered: none is larger than the proxy allows. */
function orderly(given: Ingredients): fc.Arbitrary<Conversation> {
  const fitting = requests(given).filter(
    ({ text }) => text.length <= CONNECTION_LIMITS.headerBytes,
  );
  const many = fc.array(fitting, { minLength: 1, maxLength: 40, size: "max" });
  const ending = fc.constantFrom("close" as const, "stay" as const);
  return fc.tuple(many, CUTS, ending).map(([all, cuts, end]) => {
    // Nothing may be sent after a request that closes (RFC 9112, 9.6).
    const last = all.findIndex(({ closes }) => closes);
    const sent = last < 0 ? all : all.slice(0, last + 1);
    return {
      pieces: cut(sent.map(({ text }) => text).join(""), cuts),
      sent: sent.length,
      requests: sent,
      tiers: new Set<TierName>(),
      secrets: sent.flatMap(({ secrets }) => secrets),
      ending: end,
    };
  });
}

/** Requests around malformed bytes. All have the same key, which decides what any answer may hold. */
function garbled(given: Ingredients): fc.Arbitrary<Conversation> {
  const few = fc.array(drafts(given), { maxLength: 8 });
  const noise = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...GARBLED).map(around) },
    { weight: 3, arbitrary: mutated(given) },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ minLength: 1, maxLength: 200 }).map(asText).map(around),
    },
  );
  return fc
    .tuple(few, noise, few, credentials(given.accounts), CUTS)
    .map(([before, middle, after, credential, cuts]) => {
      // It is unknown which answer belongs to which request, so every answer must have a body.
      const made = (list: readonly Draft[]): SentRequest[] =>
        list.map((draft) => draft(credential)).filter(({ isHead }) => !isHead);
      const all = [...made(before), middle(credential), ...made(after)];
      const tiers = new Set<TierName>(["free"]);
      for (const { tier } of [credential, ...all]) if (tier !== null) tiers.add(tier);
      return {
        pieces: cut(all.map(({ text }) => text).join(""), cuts),
        sent: all.length,
        requests: null,
        tiers,
        secrets: all.flatMap(({ secrets }) => secrets),
        ending: "close" as const,
      };
    });
}

/** A request that is never completed. */
function broken(given: Ingredients): fc.Arbitrary<Conversation> {
  return fc.tuple(requests(given), fc.nat({ max: 2_000 })).map(([request, at]) => {
    const text = request.text.slice(0, Math.min(at, request.text.length - 3));
    const { tier, secrets } = request;
    return {
      pieces: [Buffer.from(text, "latin1")],
      sent: 1,
      requests: null,
      tiers: new Set<TierName>(tier === null ? ["free"] : ["free", tier]),
      secrets,
      ending: "stop" as const,
    };
  });
}

/** A request with bytes inserted, removed or replaced. */
function mutated(given: Ingredients): fc.Arbitrary<Draft> {
  const byte = fc.oneof(
    fc.constantFrom("\r", "\n", "\0", " ", "\t", ":", "\r\n\r\n", "\r\n ", "\xff", "HTTP/1.1"),
    fc.nat({ max: 255 }).map((code) => String.fromCodePoint(code)),
  );
  const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat({ max: 3 }), byte);
  const changes = fc.array(change, { minLength: 1, maxLength: 4 });
  return fc.tuple(drafts(given), changes).map(([draft, list]): Draft => {
    return (credential) => {
      const whole = draft(credential);
      // No HEAD; see `garbled`.
      let text = whole.text.replace(/^HEAD/, "GET");
      for (const [place, removed, inserted] of list) {
        const at = Math.floor(place * text.length);
        text = text.slice(0, at) + inserted + text.slice(at + removed);
      }
      return { ...whole, text, isHead: false };
    };
  });
}

/** Replaces each line `$KEY` by the caller's credentials. */
const around = (pattern: string): Draft => {
  return ({ lines, tier, secrets }: Credential) => ({
    text: pattern.replaceAll("$KEY\r\n", lines.map((line) => `${line}\r\n`).join("")),
    isHead: false,
    tier,
    closes: false,
    secrets,
  });
};

const asText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** Where the bytes are cut, as fractions of the whole. Most are sent in one piece. */
const CUTS = fc.oneof(
  { weight: 4, arbitrary: fc.constant<number[]>([]) },
  { weight: 1, arbitrary: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }) },
);

function cut(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const places = cuts.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b);
  const pieces = [...places, bytes.length].map((end, at) =>
    bytes.subarray(places[at - 1] ?? 0, end),
  );
  return pieces.filter(({ length }) => length > 0);
}

const SMUGGLED = `GET ${API}/prices HTTP/1.1\r\nHost: x\r\n\r\n`;
const START = `GET ${API}/prices HTTP/1.1\r\nHost: x\r\n$KEY\r\n`;
const GARBLED = [
  `${START}Content-Length: 5\r\n\r\nhello`,
  `${START}Content-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  `${START}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `${START}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `${START}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
  `${START}Content-Length: +5\r\n\r\nhello`,
  `${START}Content-Length: 0x5\r\n\r\nhello`,
  `${START}Content-Length: 99999999999999999999\r\n\r\n${SMUGGLED}`,
  `${START}Content-Length : 5\r\n\r\nhello`,
  `${START}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  `${START}Transfer-Encoding: chunked\r\n\r\n5;a="\r\n"\r\nhello\r\n0\r\nX: y\r\n\r\n`,
  `${START}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${SMUGGLED}`,
  `${START}Transfer-Encoding: chunked\r\n\r\n-1\r\n${SMUGGLED}`,
  `${START}Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n${SMUGGLED}`,
  `${START}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `${START}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `${START}Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `${START}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  `POST ${API}/prices HTTP/1.1\r\nHost: x\r\n$KEY\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  `${START}X-Folded: a\r\n b\r\n\r\n`,
  `${START}X-Nul: a\0b\r\n\r\n`,
  `${START}X-Cr: a\rb\r\n\r\n`,
  `${START}No colon\r\n\r\n`,
  `${START}: no name\r\n\r\n`,
  `${START}N\xe9: x\r\n\r\n`,
  `${START}X-Huge: ${"v".repeat(200_000)}\r\n\r\n`,
  `${START}${"a:b\r\n".repeat(3_000)}\r\n`,
  `${START}${"X-Many: v\r\n".repeat(20_000)}\r\n`,
  `GET ${API}/prices HTTP/1.1\nHost: x\n\n`,
  `GET ${API}/prices\r\n\r\n`,
  `GET  ${API}/prices HTTP/1.1\r\nHost: x\r\n$KEY\r\n\r\n`,
  `GET ${API}/prices  HTTP/1.1\r\nHost: x\r\n$KEY\r\n\r\n`,
  `GET ${API}/pri ces HTTP/1.1\r\nHost: x\r\n$KEY\r\n\r\n`,
  `GET ${API}/prices\0 HTTP/1.1\r\nHost: x\r\n$KEY\r\n\r\n`,
  `GET ${API}/prices/\xe9\xff HTTP/1.1\r\nHost: x\r\n$KEY\r\n\r\n`,
  `GET prices HTTP/1.1\r\nHost: x\r\n$KEY\r\n\r\n`,
  `GET /${"x".repeat(140_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  `get ${API}/prices HTTP/1.1\r\nHost: x\r\n\r\n`,
  `BREW / HTTP/1.1\r\nHost: x\r\n\r\n`,
  `${"M".repeat(5_000)} / HTTP/1.1\r\nHost: x\r\n\r\n`,
  "GET / HTTP/0.9\r\n\r\n",
  "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
  "GET / FTP/1.1\r\nHost: x\r\n\r\n",
  "GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
  `CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n${SMUGGLED}`,
  `POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello`,
  "\r\n\r\n\r\n",
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
  "\xef\xbb\xbfGET / HTTP/1.1\r\nHost: x\r\n\r\n",
];
