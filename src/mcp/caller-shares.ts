/** The callers of a server of tools share its connections to the service. */
import pLimit, { type LimitFunction } from "p-limit";
import type { AddressGroup } from "../core/client-address.ts";
import { CONNECTIONS, type Ask } from "./api.ts";

/** At once, for one caller. */
const REQUESTS_EACH = 4;

export class Callers {
  readonly #all = pLimit(CONNECTIONS);
  /** Of those who ask or wait. */
  readonly #each = new Map<AddressGroup, LimitFunction>();

  /**
   * Asks for one message of a caller, which may be a batch: one question after the other. At most
   * REQUESTS_EACH of a caller's questions wait for a connection, so each caller gets its turn. After the
   * caller has left (`signal`), it rejects and asks nothing.
   */
  asking(caller: AddressGroup, ask: Ask, signal: AbortSignal): Ask {
    const inSeries = pLimit(1);
    return (path, query) =>
      inSeries(() =>
        this.#inTurn(caller, () => {
          signal.throwIfAborted();
          return ask(path, query);
        }),
      );
  }

  async #inTurn<T>(caller: AddressGroup, task: () => Promise<T>): Promise<T> {
    const own = this.#each.get(caller) ?? pLimit(REQUESTS_EACH);
    this.#each.set(caller, own);
    try {
      return await own(() => this.#all(task));
    } finally {
      if (own.activeCount + own.pendingCount === 0) this.#each.delete(caller);
    }
  }
}
