/**
 * Compares the answers of a soak with the stored snapshots that the signed log names. An answer with data
 * must be the bytes of one file of one of them.
 */
import { sessionStartMs, sessionUtc } from "../../src/market/session.ts";
import { TIERS, type TierName } from "../../src/market/tier.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { signerOf } from "../../src/snapshot/log/sign.ts";
import { isPublication, type Publication } from "../../src/snapshot/log/entry.ts";
import { entriesIn } from "../../src/snapshot/log/walk.ts";
import type { VerifyKey } from "../../src/snapshot/signing-key.ts";
import { readManifest } from "../../src/snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import type { Received } from "./soak-load.ts";
import type { Route } from "./soak-routes.ts";

const SESSION_MS = 12 * 3_600_000;
const GRACE_MS = 3_600_000;
const DELAY = /^(\{"session_utc":"[^"]{24}","delayed_sessions":)(\d+)/;

interface Known {
  readonly publication: Publication;
  readonly manifest: Manifest;
  readonly sha256: ReadonlyMap<string, string>;
}

export class AnswerBook {
  readonly #store: ObjectStore;
  readonly #keys: readonly VerifyKey[];
  /** Publications in the order of the log. */
  readonly #known: Known[] = [];
  /** The number of the last entry of the log that was read. */
  #read = 0;
  /** Digest of the body, by ETag. */
  readonly #tags = new Map<string, string>();
  readonly #baskets = new Map<string, string>();

  constructor(store: ObjectStore, keys: readonly VerifyKey[]) {
    this.#store = store;
    this.#keys = keys;
  }

  /**
   * Throws unless an answer of status 200 is exactly what one publication from number `since` on
   * holds for the caller at this time.
   */
  async check(
    received: Received,
    route: Route,
    tier: TierName,
    since: number,
    nowMs: number,
  ): Promise<void> {
    const { headers, body } = received;
    const { publication, sha256 } = await this.#named(received, since);
    const { delaySessions } = TIERS[tier];
    const headMs = sessionStartMs(publication.session);
    const overdue = Math.max(0, Math.floor((nowMs - headMs - GRACE_MS) / SESSION_MS));
    same(
      headers["x-session-utc"],
      sessionUtc(publication.session - delaySessions),
      "x-session-utc",
    );
    const delayed = String(delaySessions + overdue);
    same(headers["x-delayed-sessions"], delayed, "x-delayed-sessions");
    const digest = sha256Hex(body);
    this.#sameForTag(String(headers.etag), digest);
    const isJson = /json/.test(headers["content-type"] ?? "");
    const said = isJson ? DELAY.exec(body.toString("latin1", 0, 96)) : null;
    if (isJson) same(said?.[2], delayed, "delayed_sessions");
    if (route.kind === "basket") {
      // All proxies must compute the same bytes.
      const asked = `${snapshotText(publication)} ${overdue} ${route.path}`;
      same(digest, this.#baskets.get(asked) ?? digest, `digest of ${asked}`);
      this.#baskets.set(asked, digest);
      return;
    }
    const stored = isJson && overdue > 0 ? withDelay(body, String(delaySessions)) : body;
    const path = route.file(tier);
    same(sha256Hex(stored), sha256.get(path), `SHA-256 of ${path}`);
  }

  async #named({ headers }: Received, since: number): Promise<Known> {
    const text = headers["x-snapshot"];
    const find = (): Known | undefined =>
      this.#from(since).find(({ publication }) => snapshotText(publication) === text);
    let known = find();
    if (known === undefined) {
      await this.#readOn();
      known = find();
    }
    if (known !== undefined) return known;
    throw new Error(`x-snapshot ${String(text)} is none of publication ${since} or later`);
  }

  #from(since: number): Known[] {
    return this.#known.filter(({ publication }) => publication.number >= since);
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const number = this.#read + 1;
      const stored = await entriesIn(this.#store)(number);
      // Nobody may serve an unsigned entry.
      if (stored === null || signerOf(stored, this.#keys) === null) return;
      const { entry: publication } = stored;
      if (!isPublication(publication)) {
        this.#read = Math.max(this.#read, number);
        continue;
      }
      const { session, revision, manifest_sha256: digest } = publication;
      const manifest = await readManifest(this.#store, { session, revision }, digest);
      const sha256 = new Map(manifest.files.map((file) => [file.path, file.sha256]));
      // A concurrent call may have added it meanwhile.
      if (this.#read >= number) continue;
      this.#read = number;
      this.#known.push({ publication, manifest, sha256 });
    }
  }

  #sameForTag(etag: string, digest: string): void {
    same(digest, this.#tags.get(etag) ?? digest, `digest of the answer with ETag ${etag}`);
    this.#tags.set(etag, digest);
  }
}

function withDelay(body: Buffer, delayed: string): Buffer {
  const said = DELAY.exec(body.toString("latin1", 0, 96));
  if (said === null) throw new Error("A payload without delayed_sessions");
  const rest = body.subarray(said[0].length);
  return Buffer.concat([Buffer.from(`${said[1]}${delayed}`), rest]);
}

/** Throws unless both values are equal. */
export function same(found: unknown, expected: unknown, what: string): void {
  if (found === expected) return;
  throw new Error(`${what} is ${String(found)}, expected ${String(expected)}`);
}
