/** Publishes the head's session anew, as this version of the program renders it. */
import type { Clock } from "../lib/clock.ts";
import { ConflictError } from "../lib/errors.ts";
import { NO_KEYS, requireTrusted } from "../snapshot/log/sign.ts";
import { passTimeGates, USUAL_TIME_GATES } from "../snapshot/log/time-gates.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { loadBase } from "./base.ts";
import { contentOfHead } from "./content.ts";
import { untilFirst } from "./publish.ts";
import { keepHead, release, type PublishResult } from "./release.ts";
import { dropped, render } from "./rendering.ts";
import type { Progress, ReleaseOptions } from "./request.ts";
import { nextRevision } from "./revisions.ts";

/**
 * Makes a revision of the head with the same ledger, catalog and limits, and with the attribution given or the
 * same one, unless it would hold the same bytes. Throws ConflictError if nothing is published, RefusedError if the gates on the time
 * refuse it, InputError if it accepts what they do not refuse, DamageError if the head is damaged,
 * UnreachableError if the store fails.
 */
export const rerender = (
  reason: string,
  options: ReleaseOptions & { readonly attribution?: string },
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult> =>
  untilFirst(async () => {
    const stored = await loadBase(store);
    const { head } = stored;
    if (head === null) {
      throw new ConflictError(`${store.location} holds no snapshot to render anew`);
    }
    const base = { ...stored, head };
    const { publication, manifest } = head;
    await requireTrusted(store, base.end.newest, options.keys ?? NO_KEYS);
    const stands = contentOfHead(base);
    const content = { ...stands, attribution: options.attribution ?? stands.attribution };
    const { session } = publication;
    const name = { session, revision: await nextRevision(store, session, base.end.head) };
    // Only a difference is written, and rendered once more for it.
    const { identity } = await render(name, content, base, dropped, progress);
    if (identity === manifest.identity) return keepHead(base, null);
    const { timeGates = USUAL_TIME_GATES, by = null, why = null } = options;
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
    return release(made, base, options, store, clock, progress);
  });
