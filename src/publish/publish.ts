/**
 * Publishes a session: reads the input, applies it to the head's ledger, checks the rules and gates,
 * renders the snapshot, commits. If another publisher commits first, it starts again from the new head.
 */
import type { Clock } from "../lib/clock.ts";
import { InputError } from "../lib/errors.ts";
import { limitsOf } from "../feed/finding.ts";
import { unmovedSince } from "../feed/gate-levels.ts";
import { judge, timeGatesOf } from "../feed/gates.ts";
import { settle } from "../market/settlements.ts";
import { numberAfter } from "../snapshot/log/append.ts";
import { NO_KEYS, requireTrusted } from "../snapshot/log/sign.ts";
import { timeFindings } from "../snapshot/log/time-gates.ts";
import type { ObjectStore } from "../ports/store.ts";
import { loadBase } from "./base.ts";
import { isContentOfHead, optionsOf, type LaidOver } from "./content.ts";
import {
  describeInputs,
  judgementsOf,
  readInputs,
  type Inputs,
  type KeptAnswers,
} from "./read-inputs.ts";
import { correctionsOf, layOver } from "./lay-over.ts";
import { keepHead, release, untilFirst, type PublishResult } from "./release.ts";
import { renderAnew } from "./rerender.ts";
import type { Progress, PublishRequest } from "./request.ts";
import { nextRevision } from "./revisions.ts";
import { passGates, requireBegun, requireFree, requireNotOlder, requireRevised } from "./rules.ts";
import { seriesFor } from "./series-for.ts";
import { retryWhileEarly } from "./wait.ts";

/** The attribution of a first snapshot without `--attribution`. */
const DEFAULT_ATTRIBUTION = "Price levels published with chipboard";

/**
 * Publishes a session, unless the head already holds the same.
 *
 * Throws InputError for errors in the input or the request, RefusedError if a gate refuses it,
 * ConflictError if it contradicts published data, DamageError if the head is damaged,
 * UnreachableError if the store fails, or has neither a log nor a mark.
 */
export async function publish(
  request: PublishRequest,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult> {
  requireBegun(request.session, clock);
  if (request.catalog === null && request.quotes.length + request.closes.length === 0) {
    throw new InputError("Nothing to publish: give --catalog, --quotes or --closes");
  }
  const kept: KeptAnswers = new Map();
  const readAndPublish = async (mayWait: boolean): Promise<PublishResult> => {
    const inputs = await readInputs(request, store, progress, kept);
    return untilFirst(() => attempt(request, inputs, mayWait, store, clock, progress));
  };
  return retryWhileEarly(readAndPublish, request.waitMs, clock, progress);
}

async function attempt(
  request: PublishRequest,
  inputs: Inputs,
  mayWait: boolean,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult | null> {
  const { session, gates, keys = NO_KEYS } = request;
  const { given } = inputs;
  const stored = await loadBase(store);
  const manifest = stored.head?.manifest ?? null;
  await requireTrusted(store, stored.end.newest, keys);
  requireNotOlder(session, stored, clock);
  const { base, catalog, amendment, renamedSegments } = layOver(stored, inputs, store.location);
  await requireRevised(request, amendment, base, store, clock);

  const { ledger, touched } = amendment;
  const content: LaidOver = {
    session,
    market: { catalog, maxCarryDays: gates.maxCarryDays, seriesOf: (id) => ledger.get(id) },
    ledger,
    corrections: base.corrections,
    attribution: request.attribution ?? manifest?.attribution ?? DEFAULT_ATTRIBUTION,
    options: optionsOf(gates, request.noticeStillSessions),
    judgements: [],
  };
  const unmoved = unmovedSince({ session, catalog, after: ledger, given });
  const timeGates = { ...timeGatesOf(gates), serverTimes: inputs.serverTimes };
  if (isContentOfHead(content, touched.length > 0, stored)) {
    const { restateSeries, attribution: _, ...options } = request;
    if (restateSeries === null) return keepHead(stored, unmoved);
    const { reason, ...restates } = restateSeries;
    const renewal = { ...options, timeGates, restates };
    return renderAnew(stored, reason, renewal, store, clock, progress);
  }
  await requireFree(request, base, store, clock);
  const kind = base.head?.publication.session === session ? "revision" : "session";
  const { series, restatement } = seriesFor(content, base, kind, request.restateSeries);
  const verdict = judge(
    {
      session,
      catalog,
      head:
        base.head === null || base.catalog === null
          ? null
          : {
              session: base.head.publication.session,
              catalog: base.catalog,
              maxCarryDays: limitsOf(base.head.manifest.options).maxCarryDays,
              series: base.series,
            },
      before: base.ledger,
      after: ledger,
      series,
      kind,
      touched,
      given,
      time: timeFindings(store, base.end.newest, clock.now(), timeGates),
    },
    gates,
  );
  passGates(verdict, mayWait);

  const name = { session, revision: await nextRevision(store, session, base.end.head) };
  const publication = numberAfter(base.end.newest);
  const settlements = settle(content.market, session, series, base.settlements, publication);
  const fresh = correctionsOf(amendment, request.revise ?? "", name, publication);
  const made = {
    name,
    content: {
      ...content,
      series,
      settlements,
      corrections: [...base.corrections, ...fresh],
      judgements: judgementsOf(verdict.accepted, given, request),
    },
    reason: request.revise ?? restatement?.reason ?? null,
    inputs: describeInputs(inputs, base),
    fresh,
    unmovedSince: unmoved,
  };
  const { end, head, rowsBefore } = base;
  const released = await release(
    made,
    { end, head, rowsBefore },
    { ...request, timeGates },
    store,
    clock,
    progress,
  );
  return released && { ...released, renamedSegments };
}
