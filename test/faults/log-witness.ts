/**
 * Watches a signed log while runs are struck or race: what they write to it, and what proxies with
 * `--verify-key` accept of it. A run signs only what is in the log and what a run appended, and nobody
 * removes entries or signatures: so no number is ever signed with two contents.
 */
import { verify } from "node:crypto";
import { DamageError } from "../../src/lib/errors.ts";
import { VouchedLog } from "../../src/proxy/snapshot/vouched-log.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { signerOfEntry } from "../../src/snapshot/entry-signature.ts";
import { readStoredEntry } from "../../src/snapshot/publication-log.ts";
import { newerSeen, type SeenEntry } from "../../src/state/log-memory.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import {
  parseAnnouncementKey,
  parsePublicationKey,
  parseSignatureKey,
  publicationKey,
  PUBLICATIONS,
  signatureKey,
} from "../../src/store/paths.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { InterceptedStore, type Operation } from "./crash-store.ts";

const KEYS = [GOLDEN_KEY.verifyKey];
const SHA256_IN_ANNOUNCEMENT = /[0-9a-f]{64}(?=\.sig$)/;

export class LogWitness {
  readonly #store: ObjectStore;
  /** The SHA-256 of every entry that a run appended or tried to append. */
  readonly #tried = new Set<string>();
  /** The SHA-256 of the entry that was created, and the signature that was made, by number. */
  readonly #created = new Map<number, string>();
  readonly #signatures = new Map<number, string>();
  /** What the proxies of one state remember. */
  #seen: SeenEntry | null = null;
  /** The log of a proxy that runs all the time. */
  #running: VouchedLog;
  #breach: Error | null = null;

  private constructor(store: ObjectStore) {
    this.#store = store;
    this.#running = this.#proxy();
  }

  /** Watches a store whose entries are those of runs. */
  static async begin(store: ObjectStore): Promise<LogWitness> {
    const witness = new LogWitness(store);
    await witness.trust();
    await witness.poll();
    return witness;
  }

  /** Takes all entries that are in the store now as those of runs. */
  async trust(): Promise<void> {
    for (const sha256 of await this.#log()) this.#tried.add(sha256);
  }

  /** The same store; every write to it that a run tries is watched. */
  watched(store: ObjectStore): ObjectStore {
    return new InterceptedStore(store, async (operation, run) => {
      await this.#attempted(operation);
      const result = await run();
      if (result === "created") this.#appended(operation);
      return result;
    });
  }

  /** Throws if a write broke a promise. */
  requireKept(): void {
    if (this.#breach !== null) throw this.#breach;
  }

  /**
   * Polls as two proxies of one state do, one that runs and one that starts. Throws if a write broke a
   * promise, or if a proxy accepts an entry that no signature vouches for or that has changed since, or
   * reports anything but an end that is not signed yet.
   */
  async poll(): Promise<void> {
    this.requireKept();
    // A log that was refused at the start is read again after a while only.
    if (this.#running.newestNumber === 0) this.#running = this.#proxy();
    await Promise.all([this.#running, this.#proxy()].map((proxy) => this.#follow(proxy)));
  }

  /** Polls; then the proxies must have accepted the whole log. */
  async end(): Promise<void> {
    await this.poll();
    const { length } = await this.#log();
    if (this.#running.newestNumber === length) return;
    throw new Error(`A proxy follows ${this.#running.newestNumber} of ${length} entries`);
  }

  /** The number of the first entry that no run appended; null: there is none. */
  async stranger(): Promise<number | null> {
    const at = (await this.#log()).findIndex((sha256) => !this.#tried.has(sha256));
    return at < 0 ? null : at + 1;
  }

  #proxy(): VouchedLog {
    const memory = {
      seen: async () => this.#seen,
      see: async (entry: SeenEntry) => (this.#seen = newerSeen(this.#seen, entry) ?? entry),
    };
    return new VouchedLog(this.#store, { keys: KEYS, memory });
  }

  async #attempted({ kind, key, bytes }: Operation): Promise<void> {
    if (kind === "delete" && key.startsWith(PUBLICATIONS)) this.#broken(`${key} is removed`);
    if (bytes === undefined) return;
    if (parsePublicationKey(key) !== null) this.#tried.add(sha256Hex(bytes));
    if (parseAnnouncementKey(key) !== null) {
      const [announced = ""] = SHA256_IN_ANNOUNCEMENT.exec(key) ?? [];
      const isSignature = signerOfEntry(bytes, announced, KEYS) !== null;
      if (isSignature) this.#broken(`${key} holds a signature of the log`);
    }
    const number = parseSignatureKey(key);
    if (number === null) return;
    this.#note(this.#signatures, number, Buffer.from(bytes).toString("hex"), "signed");
    const stored = await readStoredEntry(this.#store, number);
    if (stored === null || signerOfEntry(bytes, stored.sha256, KEYS) === null) {
      this.#broken(`entry ${number} is signed before it is in the log`);
    } else if (!this.#tried.has(stored.sha256)) {
      this.#broken(`entry ${number} is signed, and no run appended it`);
    }
  }

  #appended({ key, bytes }: Operation): void {
    const number = parsePublicationKey(key);
    if (number === null || bytes === undefined) return;
    this.#note(this.#created, number, sha256Hex(bytes), "created");
  }

  #note(all: Map<number, string>, number: number, text: string, what: string): void {
    const known = all.get(number) ?? text;
    all.set(number, known);
    if (known !== text) this.#broken(`entry ${number} is ${what} with two contents`);
  }

  #broken(how: string): void {
    this.#breach ??= new Error(how);
  }

  async #follow(proxy: VouchedLog): Promise<void> {
    try {
      const { trouble } = await proxy.follow();
      if (trouble !== null) throw trouble;
    } catch (error) {
      const isUnsigned = error instanceof DamageError && error.message.includes("is unsigned");
      if (!isUnsigned) throw error;
    }
    const { newestNumber } = proxy;
    const log = await this.#log();
    for (let number = 1; number <= newestNumber; number += 1) {
      if (proxy.entry(number)?.sha256 === log[number - 1]) continue;
      throw new Error(`A proxy has accepted another entry ${number} than the log has`);
    }
    if (newestNumber > (await this.#newestSigned(log))) {
      throw new Error(
        `A proxy has accepted entry ${newestNumber}, and nothing signed vouches for it`,
      );
    }
  }

  /** The SHA-256 of each entry, from the first on. */
  async #log(): Promise<string[]> {
    const log: string[] = [];
    for (;;) {
      const bytes = await this.#store.get(publicationKey(log.length + 1));
      if (bytes === null) return log;
      log.push(sha256Hex(bytes));
    }
  }

  /** The number of the newest entry with a signature of the key, checked without the code of the proxy. */
  async #newestSigned(log: readonly string[]): Promise<number> {
    for (let number = log.length; number > 0; number -= 1) {
      const signature = await this.#store.get(signatureKey(number));
      const digest = Buffer.from(log[number - 1] as string, "hex");
      const message = Buffer.concat([Buffer.from("chipboard log v1\n"), digest]);
      if (signature !== null && verify(null, message, GOLDEN_KEY.verifyKey.key, signature))
        return number;
    }
    return 0;
  }
}
