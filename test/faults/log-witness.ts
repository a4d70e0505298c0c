/**
 * Watches a signed log while runs are struck or race: which entries they write, and which of them proxies
 * with `--verify-key` accept. A run appends an entry with its signature in one write, and nobody removes
 * entries: so no number ever has two contents, and no entry is without its signature for a moment.
 */
import { hash, verify } from "node:crypto";
import { DamageError } from "../../src/lib/errors.ts";
import { LogReader } from "../../src/served/log-reader.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { remembering, type SeenLog } from "../../src/snapshot/log/lost.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { parsePublicationKey, publicationKey, PUBLICATIONS } from "../../src/store/paths.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { InterceptedStore, type Operation } from "./crash-store.ts";

const KEYS = [GOLDEN_KEY.verifyKey];

export class LogWitness {
  readonly #store: ObjectStore;
  /** The SHA-256 of every entry that a run appended or tried to append. */
  readonly #tried = new Set<string>();
  /** The SHA-256 of the entry that was created, by number. */
  readonly #created = new Map<number, string>();
  /** What the proxies of one state remember. */
  #seen: readonly SeenLog[] = [];
  /** The log of a proxy that runs all the time. */
  readonly #running: LogReader;
  #breach: Error | null = null;

  private constructor(store: ObjectStore) {
    this.#store = store;
    this.#running = this.#proxy();
  }

  /** Watches a store whose entries all come from runs. */
  static async begin(store: ObjectStore): Promise<LogWitness> {
    const witness = new LogWitness(store);
    await witness.trust();
    await witness.poll();
    return witness;
  }

  /** Takes all entries that are in the store now as entries of runs. */
  async trust(): Promise<void> {
    for (const sha256 of await this.#log()) this.#tried.add(sha256);
  }

  /** The same store; every write to it that a run tries is watched. */
  watched(store: ObjectStore): ObjectStore {
    return new InterceptedStore(store, async (operation, run) => {
      this.#attempted(operation);
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

  #proxy(): LogReader {
    const memory = {
      seen: async () => this.#seen,
      see: async (log: SeenLog) => void (this.#seen = remembering(this.#seen, log)),
    };
    return new LogReader(this.#store, memory, KEYS);
  }

  #attempted({ kind, key, bytes }: Operation): void {
    if (!key.startsWith(PUBLICATIONS)) return;
    if (kind === "delete") this.#broken(`${key} is removed`);
    if (bytes === undefined) return;
    this.#tried.add(sha256Hex(bytes));
    if (parsePublicationKey(key) === null) this.#broken(`${key} is no entry of the log`);
    if (!isSigned(bytes)) this.#broken(`${key} is written without its signature`);
  }

  #appended({ key, bytes }: Operation): void {
    const number = parsePublicationKey(key);
    if (number === null || bytes === undefined) return;
    const sha256 = sha256Hex(bytes);
    const known = this.#created.get(number) ?? sha256;
    this.#created.set(number, known);
    if (known !== sha256) this.#broken(`entry ${number} is created with two contents`);
  }

  #broken(how: string): void {
    this.#breach ??= new Error(how);
  }

  async #follow(proxy: LogReader): Promise<void> {
    try {
      const trouble = await proxy.follow();
      if (trouble !== null) throw trouble;
    } catch (error) {
      const isUnsigned = error instanceof DamageError && error.message.includes("is unsigned");
      if (!isUnsigned) throw error;
    }
    const { newestNumber } = proxy;
    const log = await this.#log();
    for (let number = 1; number <= newestNumber; number += 1) {
      if (proxy.get(number).sha256 === log[number - 1]) continue;
      throw new Error(`A proxy has accepted another entry ${number} than the log has`);
    }
    if (newestNumber > (await this.#newestSigned(log.length))) {
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

  /** The number of the newest entry that the key signed. */
  async #newestSigned(length: number): Promise<number> {
    for (let number = length; number > 0; number -= 1) {
      const bytes = await this.#store.get(publicationKey(number));
      if (bytes !== null && isSigned(bytes)) return number;
    }
    return 0;
  }
}

/** Whether the key signed the entry, checked without the code of the program. */
function isSigned(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString("latin1");
  const [, unsigned, signature] = /^(.*),"signature":"(.{88})"\}\n$/.exec(text) ?? [];
  if (unsigned === undefined || signature === undefined) return false;
  const digest = hash("sha256", Buffer.from(`${unsigned}}\n`, "latin1"), "buffer");
  const message = Buffer.concat([Buffer.from("chipboard log v2\n"), digest]);
  return verify(null, message, GOLDEN_KEY.verifyKey.key, Buffer.from(signature, "base64"));
}
