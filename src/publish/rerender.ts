/** Publishes the head's session anew: as this version of the program renders it, or with restated series. */
import type { Clock } from "../lib/clock.ts";
import { ConflictError } from "../lib/errors.ts";
import { NO_KEYS, requireTrusted } from "../snapshot/log/sign.ts";
import { passTimeGates, USUAL_TIME_GATES } from "../snapshot/log/time-gates.ts";
import type { RestatementOrder } from "../market/published-series.ts";
import { settle } from "../market/settlements.ts";
import { numberAfter } from "../snapshot/log/append.ts";
import type { ObjectStore } from "../ports/store.ts";
import { loadBase } from "./base.ts";
import { contentOfHead, type PublishedBase } from "./content.ts";
import { keepHead, release, untilFirst, type PublishResult } from "./release.ts";
import { dropObject, render } from "./rendering.ts";
import type { Progress, ReleaseOptions } from "./request.ts";
import { nextRevision } from "./revisions.ts";
import { seriesFor } from "./series-for.ts";

/** How the head's session is published anew. */
export interface Renewal extends ReleaseOptions {
  /** Left out: the head's. */
  readonly attribution?: string;
  /** Left out: published closes of series stay. */
  readonly restates?: Omit<RestatementOrder, "reason">;
}

/**
 * Makes a revision of the head with the same ledger, catalog and limits, and with the attribution given or
 * the same one, unless it would hold the same bytes; with `restates` unless no close of a series would
 * change. Throws ConflictError if nothing is published, RefusedError if the gates on the time refuse it,
 * InputError if it accepts a gate that refuses nothing, DamageError if the head is damaged, UnreachableError
 * if the store fails.
 */
export const rerender = (
  reason: string,
  renewal: Renewal,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult> =>
  untilFirst(async () => {
    const { head, ...stored } = await loadBase(store);
    if (head === null) {
      throw new ConflictError(`${store.location} holds no snapshot to render again`);
    }
    await requireTrusted(store, stored.end.newest, renewal.keys ?? NO_KEYS);
    return renderAnew({ ...stored, head }, reason, renewal, store, clock, progress);
  });

/** The same for a head that is read and trusted. Null: another run published first. */
export async function renderAnew(
  base: PublishedBase,
  reason: string,
  renewal: Renewal,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult | null> {
  const { publication, manifest } = base.head;
  const { restates } = renewal;
  const stands = contentOfHead(base);
  const order = restates ? { ...restates, reason } : null;
  const { series, restatement } = seriesFor(stands, base, "same", order);
  const attribution = renewal.attribution ?? stands.attribution;
  const { session } = publication;
  const number = numberAfter(base.end.newest);
  const settlements = settle(stands.market, session, series, base.settlements, number);
  const content = { ...stands, series, settlements, attribution };
  const name = { session, revision: await nextRevision(store, session, base.end.head) };
  if (order !== null) {
    if (restatement === null) return keepHead(base, null);
  } else {
    // Only a difference is written, and rendered once more for it.
    const { identity } = await render(name, content, base, dropObject, progress);
    if (identity === manifest.identity) return keepHead(base, null);
  }
  const { timeGates = USUAL_TIME_GATES, by = null, why = null } = renewal;
  const accepted = passTimeGates(store, base.end.newest, clock.now(), timeGates);
  const judgements = [
    ...content.judgements,
    ...accepted.map(({ gate, contract, measured, limit }) => {
      return { gate, contract, measured, limit, by, why };
    }),
  ];
  const made = {
    name,
    content: { ...content, judgements },
    reason,
    inputs: [],
    fresh: [],
    unmovedSince: null,
  };
  return release(made, base, renewal, store, clock, progress);
}
