/** Decides whether an answer is allowed, for any request. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parseSession, type Session } from "../../src/market/session.ts";
import { TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import { PROBLEM_MEDIA_TYPE, PROBLEMS, type ProblemCode } from "../../src/public/problems.ts";
import { assetPath } from "../../src/pages/assets.ts";
import { siteAssets } from "../../src/site/site-files.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { parseManifest } from "../../src/snapshot/manifest.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { pagePaths, uncountedPaths } from "../../test/http/addresses.ts";
import { plainFile } from "../../test/store/stored-file.ts";
import type { Answer } from "./caller-answers.ts";
import { SESSION } from "./caller-service.ts";

const SMALL_DOCUMENTS: Readonly<Record<string, readonly string[]>> = {
  usage: "account tier limit used remaining resets_at trial_ends_at key_expires_at".split(" "),
  publications: ["publications", "next"],
  health: ["status"],
  readiness:
    "status snapshot session_utc publication damaged attribution overdue clock state store".split(
      " ",
    ),
};
const REMEMBERED = 5_000;

export class Judge {
  /** Each tier's files by their digests. */
  readonly #files: ReadonlyMap<TierName, ReadonlyMap<string, Buffer>>;
  readonly #pages: ReadonlySet<string>;
  readonly #keys: readonly string[];
  /** Digest of the decoded body, by the digest of the body as sent. */
  readonly #decoded = new Map<string, string>();

  private constructor(
    files: ReadonlyMap<TierName, ReadonlyMap<string, Buffer>>,
    pages: ReadonlySet<string>,
    keys: readonly string[],
  ) {
    this.#files = files;
    this.#pages = pages;
    this.#keys = keys;
  }

  /** For the proxy at `url`, which serves `store`. No answer may contain one of `keys`. */
  static async of(store: string, url: string, keys: readonly string[]): Promise<Judge> {
    const name = { session: parseSession(SESSION) as Session, revision: 1 };
    const path = join(store, snapshotFileKey(name, FILES.manifest));
    const manifest = parseManifest(readFileSync(path), path);
    const files = new Map(TIER_NAMES.map((tier) => [tier, new Map<string, Buffer>()]));
    for (const { path: file, sha256, tier } of manifest.files) {
      if (tier === null || file === FILES.basket(tier)) continue;
      files.get(tier)?.set(sha256, plainFile(join(store, snapshotFileKey(name, file))));
    }
    const addresses = [
      ...pagePaths("item-0"),
      ...uncountedPaths("key"),
      ...uncountedPaths("everybody"),
      ...siteAssets().map(assetPath),
    ];
    const pages = addresses.map(async (page) => {
      const response = await fetch(url + page, { headers: { "accept-encoding": "identity" } });
      return sha256Hex(Buffer.from(await response.arrayBuffer()));
    });
    return new Judge(files, new Set(await Promise.all(pages)), keys);
  }

  /**
   * The fault of an answer to a caller who may see the data of `tiers`, or null if it has none. `isHead`: the
   * answer has no body.
   */
  faultOf(answer: Answer, tiers: ReadonlySet<TierName>, isHead: boolean): string | null {
    const { status, headers, body } = answer;
    if (!/^\d+$/.test(headers.get("x-ratelimit-remaining") ?? "")) return "no quota field";
    if (!/^[0-9a-f]{26}$/.test(headers.get("x-request-id") ?? "")) return "no request id";
    if (status >= 500) return "a failure of the service";
    if (status >= 400) return this.#problemFault(answer, isHead);
    if (status === 204 || status === 304) return body.length === 0 ? null : "a body on 204 or 304";
    if (status === 206) return this.#isPart(answer, tiers) ? null : "a part that is no file's";
    if (status !== 200) return "a status that is none of the service's";
    if (isHead) return tiers.size === 0 && headers.has("x-snapshot") ? "data without a key" : null;
    const decoded = this.#decodedDigest(answer);
    if (decoded === null) return "a body that cannot be decoded";
    if (!headers.has("x-snapshot")) {
      return this.#pages.has(decoded) || isSmallDocument(body) ? null : "a document of no route";
    }
    for (const tier of tiers) if (this.#files.get(tier)?.has(decoded) === true) return null;
    if (tiers.has("pro") && isBasket(body)) return null;
    return "data that is no file of the caller's tier";
  }

  #isPart({ headers, body }: Answer, tiers: ReadonlySet<TierName>): boolean {
    const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers.get("content-range") ?? "");
    if (range === null) return false;
    const [first = 0, last = 0, size] = range.slice(1).map(Number);
    const files = [...tiers].flatMap((tier) => [...(this.#files.get(tier)?.values() ?? [])]);
    return files.some(
      (file) => file.length === size && file.subarray(first, last + 1).equals(body),
    );
  }

  #problemFault({ status, headers, body }: Answer, isHead: boolean): string | null {
    if (headers.get("content-type") !== PROBLEM_MEDIA_TYPE) return "no problem document";
    if (isHead) return null;
    const text = body.toString("utf8");
    if (this.#keys.some((key) => text.includes(key))) return "a key in an answer";
    const problem = jsonOf(body);
    const code = problem?.["code"] as ProblemCode;
    const known = PROBLEMS[code]?.status;
    if (known === undefined || problem?.["status"] !== status) return "a problem without its code";
    if (problem["request_id"] !== headers.get("x-request-id"))
      return "a problem of another request";
    return known === status || status === 400 ? null : "a problem with another one's status";
  }

  #decodedDigest({ headers, body }: Answer): string | null {
    const coding = headers.get("content-encoding");
    const sent = sha256Hex(body);
    if (coding === undefined) return sent;
    const known = this.#decoded.get(sent);
    if (known !== undefined) return known;
    try {
      if (coding !== "gzip") return null;
      const digest = sha256Hex(gunzipSync(body));
      if (this.#decoded.size < REMEMBERED) this.#decoded.set(sent, digest);
      return digest;
    } catch {
      return null;
    }
  }
}

function isSmallDocument(body: Buffer): boolean {
  const document = jsonOf(body);
  if (document === null) return false;
  const members = Object.keys(document).join();
  return Object.values(SMALL_DOCUMENTS).some((known) => known.join() === members);
}

function isBasket(body: Buffer): boolean {
  const document = jsonOf(body);
  return document?.["name"] === "basket" && Array.isArray(document["contributions"]);
}

function jsonOf(body: Buffer): Record<string, unknown> | null {
  try {
    return JSON.parse(body.toString("utf8")) as Record<string, unknown> | null;
  } catch {
    return null;
  }
}
