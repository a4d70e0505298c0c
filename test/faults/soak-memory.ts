/**
 * Whether the proxies of a soak take ever more memory. After a third of the run a proxy has met
 * every kind of request and switched snapshots many times; from then on it shall not climb.
 */
import type { SoakProxy } from "./soak-proxy.ts";

/** What the last may be above the largest of the first third: times, and bytes beside. */
const GROWTH = 1.25;
const SLACK_BYTES = 48_000_000;

export class Memory {
  readonly #proxies: readonly SoakProxy[];
  #earlyBytes = 0;

  constructor(proxies: readonly SoakProxy[]) {
    this.#proxies = proxies;
  }

  /** To be called when a third of the run is over. */
  async sample(): Promise<void> {
    this.#earlyBytes = Math.max(...(await this.#rssBytes()));
  }

  /** Throws where a proxy has grown beyond what is allowed. */
  async check(say: (text: string) => void): Promise<void> {
    const bytes = await this.#rssBytes();
    const limit = this.#earlyBytes * GROWTH + SLACK_BYTES;
    const figures = `${bytes.map(megabytes).join(", ")} MB resident; after a third at most ${megabytes(this.#earlyBytes)} MB`;
    say(figures);
    if (Math.max(...bytes) > limit) throw new Error(`Proxies have grown: ${figures}`);
  }

  #rssBytes(): Promise<number[]> {
    return Promise.all(this.#proxies.map((proxy) => proxy.rssBytes()));
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
