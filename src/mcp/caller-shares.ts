/** The callers of a server of tools share its connections to the service. */
import { ASKED_AT_ONCE, ASKED_AT_ONCE_EACH } from "../lib/limits.ts";
import pLimit, { type LimitFunction } from "p-limit";
import type { AddressGroup } from "../core/client-address.ts";
import type { Ask } from "./api.ts";

export class Callers {
  readonly #all = pLimit(ASKED_AT_ONCE);
  /** Of those who ask or wait. */
  readonly #each = new Map<AddressGroup, LimitFunction>();

  /**
   * Asks for one message of a caller, which may be a batch: one question after the other. At most
   * ASKED_AT_ONCE_EACH of a caller's questions wait for a connection, so each caller gets its turn. After the
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
    const own = this.#each.get(caller) ?? pLimit(ASKED_AT_ONCE_EACH);
    this.#each.set(caller, own);
    try {
      return await own(() => this.#all(task));
    } finally {
      if (own.activeCount + own.pendingCount === 0) this.#each.delete(caller);
    }
  }
}
