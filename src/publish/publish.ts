/**
 * Publishes a session: reads the input, applies it to the head's ledger, plans the snapshot, checks
 * the rules and gates, commits. If another publisher commits first, it starts again from the new head.
 */
import type { Clock } from "../lib/clock.ts";
import { ConflictError, InputError } from "../lib/errors.ts";
import { judge, USUAL_LIMITS } from "../feed/gates.ts";
import { amend, type Amendment } from "../ledger/amend.ts";
import type { Correction } from "../ledger/corrections.ts";
import { formatMicros } from "../market/decimal.ts";
import { sessionUtc } from "../market/session.ts";
import { recordsOf, type BoardRecord, type Market } from "../market/view.ts";
import { FORMAT, type Manifest } from "../snapshot/manifest.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { snapshotText, type SnapshotName } from "../store/paths.ts";
import { PROGRAM } from "../lib/version.ts";
import { commit } from "./commit.ts";
import { loadBase, type Base } from "./base.ts";
import { describeInputs, readInputs, type Inputs } from "./inputs.ts";
import { manifestOf, plan } from "./plan.ts";
import { nextRevision } from "./revisions.ts";
import { passGates, requireBegun, requireFree, requireNotOlder, requireRevised } from "./rules.ts";
import type { Progress, PublishRequest } from "./request.ts";
import { requireSignedHead, signHead, signingOf, type Signing } from "./signing.ts";

const ATTEMPTS_MAX = 50;
/** The attribution of a first snapshot without `--attribution`. */
const DEFAULT_ATTRIBUTION = "Price levels published with chipboard";

/** The result of a run. */
export interface PublishResult {
  /** "planned": a dry run that would publish. "unchanged": the head already holds the same. */
  readonly outcome: "published" | "planned" | "unchanged";
  /** The published or planned snapshot; the head if it is unchanged. */
  readonly snapshot: SnapshotName;
  /** The publication's number; the head's if it is unchanged; null if the outcome is "planned". */
  readonly publication: number | null;
  readonly manifest: Manifest;
  /** The records of the Pro board. */
  readonly board: readonly BoardRecord[];
  /** Null without a signing key. */
  readonly signing: Signing | null;
}

/**
 * Publishes a session, unless the head already holds the same.
 *
 * Throws InputError for errors in the input or the request, RefusedError if a gate refuses it,
 * ConflictError if it contradicts published data, DamageError if the head is damaged,
 * UnreachableError if the store fails.
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
  const inputs = await readInputs(request, progress);
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const result = await attemptPublish(request, inputs, store, clock, progress);
    if (result !== "again") return result;
  }
  throw new ConflictError(`Gave up: ${ATTEMPTS_MAX} other publishers came first`);
}

async function attemptPublish(
  request: PublishRequest,
  inputs: Inputs,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult | "again"> {
  const { session, signingKey = null } = request;
  const base = await loadBase(store);
  await requireSignedHead(store, base.head?.publication ?? null, request.verifyKeys ?? null);
  requireNotOlder(session, base);
  const { catalog, amendment } = layOver(base, inputs, store);
  await requireRevised(request, amendment, store);

  const name = { session, revision: await nextRevision(store, session) };
  const fresh = correctionsOf(amendment, request.revise ?? "", name);
  const corrections = [...base.corrections, ...fresh];
  const market: Market = {
    catalog,
    maxCarryDays: request.gates.maxCarryDays,
    seriesOf: (id) => amendment.ledger.get(id),
  };
  const attribution = request.attribution ?? base.head?.manifest.attribution ?? DEFAULT_ATTRIBUTION;
  const planned = await plan(
    {
      market,
      head: session,
      attribution,
      corrections,
      // The usual limits, not the run's: the run's limits do not change the files, so that a repeated
      // run with other limits finds nothing to do. The manifest has the run's limits.
      gates: USUAL_LIMITS,
      program: PROGRAM,
      ledger: amendment.ledger,
      parentLedger: base.head?.manifest.ledger ?? [],
      began: base.newest?.number ?? 0,
    },
    progress,
  );
  const board = recordsOf(planned.views.pro);
  if (base.head?.manifest.identity === planned.identity) {
    const { publication, manifest } = base.head;
    const { number: headNumber, revision } = publication;
    const snapshot = { session: publication.session, revision };
    const remade = (): Manifest =>
      manifestOf(planned, snapshot, amendment.ledger, corrections, {
        ...manifest,
        program: PROGRAM,
      });
    const signing = await signHead(store, publication, remade, signingKey, request.dryRun);
    const published = { snapshot, publication: headNumber, manifest };
    return { outcome: "unchanged", ...published, board, signing };
  }
  await requireFree(request, base, store);
  passGates(
    judge(
      {
        session,
        catalog,
        catalogBefore: base.catalog,
        before: base.ledger,
        after: amendment.ledger,
        touched: amendment.touched,
        given: inputs.given,
      },
      request.gates,
    ),
  );

  const manifest = manifestOf(planned, name, amendment.ledger, corrections, {
    format: FORMAT,
    program: PROGRAM,
    parent: parentOf(base),
    reason: request.revise,
    attribution,
    options: optionsOf(request),
    inputs: describeInputs(inputs),
    corrected: fresh.map((item) => ({
      contract: item.contract,
      session_utc: sessionUtc(item.session),
      old_usd: item.oldUsd,
      new_usd: item.newUsd,
    })),
  });
  if (request.dryRun) {
    await store.mayWrite();
    const signing = signingOf(signingKey, "planned");
    return { outcome: "planned", snapshot: name, publication: null, manifest, board, signing };
  }

  const { newest } = base;
  const publication = await commit(
    store,
    { name, plan: planned, manifest, signingKey, newest, nowMs: clock.now() },
    progress,
  );
  if (publication === null) return "again";
  const { number } = publication;
  const signing = signingOf(signingKey, "signed");
  return { outcome: "published", snapshot: name, publication: number, manifest, board, signing };
}

/** The given or published catalog, and the ledger with the input applied. Raises all complaints. */
function layOver(
  base: Base,
  inputs: Inputs,
  store: ObjectStore,
): { catalog: NonNullable<Base["catalog"]>; amendment: Amendment } {
  const { complaints, given } = inputs;
  const catalog = inputs.catalog?.contracts ?? base.catalog;
  if (catalog === null) {
    complaints.raise();
    throw new InputError(`${store.location} holds no catalog yet: give --catalog`);
  }
  const known = inputs.catalog?.ids ?? new Set(catalog.map(({ id }) => id));
  // If no row of the catalog is readable, complaints about unknown ids only hide its own errors.
  if (known.size > 0) given.requireKnown((id) => known.has(id), complaints);
  const withdrawn = new Map<string, boolean>();
  for (const { contract, session, newUsd } of base.corrections) {
    withdrawn.set(`${contract} ${session}`, newUsd === null);
  }
  const amendment = amend(
    {
      ledger: base.ledger,
      head: base.head?.publication.session ?? null,
      wasWithdrawn: (contract, session) => withdrawn.get(`${contract} ${session}`) === true,
    },
    given,
    complaints,
  );
  complaints.raise();
  return { catalog, amendment };
}

function correctionsOf(amendment: Amendment, reason: string, name: SnapshotName): Correction[] {
  return amendment.restatements.map(({ contract, session, old, now }) => ({
    contract,
    session,
    oldUsd: old === null ? null : formatMicros(old.usd),
    newUsd: now === null ? null : formatMicros(now.usd),
    reason,
    correctedIn: snapshotText(name),
  }));
}

function parentOf(base: Base): Manifest["parent"] {
  if (base.head === null) return null;
  const { session_utc, revision, identity } = base.head.manifest;
  return { session_utc, revision, identity };
}

const optionsOf = ({ gates }: PublishRequest): Manifest["options"] => ({
  max_move_pct: formatMicros(gates.maxMoveMicros),
  min_coverage_pct: formatMicros(gates.minCoverageMicros),
  max_carry_days: gates.maxCarryDays,
  accept_moves: gates.acceptMoves,
  allow_sparse: gates.allowSparse,
});
