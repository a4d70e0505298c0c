/**
 * The proxy's own JSON answers as zod schemas: answers that no snapshot holds. The OpenAPI document is generated
 * from them and from the schemas of payloads (src/public/payload-schemas.ts).
 */
import { z } from "zod";
import { BOARDS, PRICE_TYPES } from "../market/contract.ts";
import { closeCounts } from "./payload-schemas.ts";
import { KEY_TIER_NAMES, perTier, TIER_NAMES } from "../market/tier.ts";

const instant = z.iso.datetime({ precision: 3 });
const count = z.int().nonnegative();

/** `/usage`. */
export const usage = z.object({
  account: z.string().nullable().describe("Null without a key: the client address is counted."),
  tier: z.enum(TIER_NAMES),
  limit: count.nullable().describe("Calls a calendar month (UTC); null: no limit."),
  used: count,
  remaining: count.nullable(),
  resets_at: instant,
  trial_ends_at: instant.nullable().describe("When the account's trial ends; null: it has none."),
  key_expires_at: instant
    .nullable()
    .describe("When the key sent ends, by its own end or by a rotation; null: no end is set."),
});

const snapshotName = (what: string) =>
  z.string().nullable().describe(`${what}, such as 2026-11-21T00Z/r1; null: none.`);

/** `/publications`. */
export const publications = z.object({
  publications: z
    .array(
      z.object({
        number: z.int().positive().describe("The parameter publication of data addresses."),
        at: instant.describe("From this instant on it was the newest."),
        action: z
          .enum(["publish", "rollback", "prune"])
          .describe("A prune removes old snapshots; it has none of the fields below."),
        snapshot: snapshotName("The snapshot that it made the head"),
        session_utc: instant.nullable(),
        revision: z.int().positive().nullable().describe("Of the session."),
        reason: z.string().nullable().describe("Of a revision or a rollback."),
        corrections: count
          .nullable()
          .describe("Published levels that it changed; null: a prune, or not known any more."),
      }),
    )
    .describe("Publications and prunes, oldest first."),
  next: z.int().positive().nullable().describe("The parameter after of the next page; null: none."),
});

/** `/contracts`. */
export const contracts = z.object({
  session_utc: instant.describe("The session of the publication whose catalog this is."),
  contracts: z
    .array(
      z.object({
        id: z.string(),
        ticker: z.string(),
        name: z.string(),
        board: z.enum(BOARDS),
        segment: z.string().describe("The name of its segment."),
        segment_id: z.string().describe("The id of the segment's index, and of segments below."),
        unit: z.string().describe("Unit of a level, such as USD per chip."),
        capacity_gb: z.number().positive().nullable(),
        price_type: z.enum(PRICE_TYPES).nullable(),
        cadence_days: z
          .number()
          .positive()
          .describe("How often the source prices it, in days; 0.5 is every session."),
        source: z.string().describe("Of levels that do not name their own."),
        source_url: z.url(),
        free: z.boolean().describe("Whether callers without a key receive its levels."),
        formerly: z
          .array(z.string())
          .describe("The ids that it had before, the oldest first. Each still finds it."),
        delisted_on: z.iso
          .date()
          .nullable()
          .describe("Off the boards from 00:00 UTC of this date on; null: listed."),
        closes: closeCounts
          .meta({ since: "1.1.0" })
          .describe(
            "The history of each tier, as of the session that callers without a key receive.",
          ),
      }),
    )
    .describe("All contracts of the catalog in its order, delisted ones included."),
  segments: z
    .array(
      z.object({
        id: z.string().describe("The parameter segment, and the id of the segment's index."),
        name: z.string(),
        contracts: count.describe("How many contracts above are of the segment."),
        formerly: z
          .array(z.string())
          .meta({ since: "1.1.0" })
          .describe("The ids that it had before, the oldest first. Each still finds it."),
      }),
    )
    .describe("In the order of `/indices`."),
});

const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** `/log/{id}`: an entry of the log as it is stored. */
export const logEntry = z.object({
  number: z.int().positive(),
  action: z.enum(["publish", "rollback", "prune"]),
  at: instant,
  session: z.string().optional().describe("The session that it made the head: 2026-11-21T00Z."),
  revision: z.int().positive().optional(),
  reason: z.string().nullable().optional(),
  manifest_sha256: digest.optional().describe("Of the snapshot's manifest, which names all files."),
  corrections: count.optional(),
  snapshots: z.array(z.string()).optional().describe("The snapshots that a prune took."),
  parts: z.array(z.string()).optional().describe("The parts of the ledger that a prune took."),
  previous: digest
    .nullable()
    .describe(
      "The SHA-256 of the bytes of the entry with the number before, with its signature; null: there is none.",
    ),
  roots: z
    .object(perTier(() => digest.nullable().optional()))
    .optional()
    .describe(
      "The SHA-256 of the answer of /api/public/v1/sums for each tier; null, or no member: the snapshot has no sums for the tier.",
    ),
  signature: z
    .string()
    .optional()
    .describe(
      "The publisher's signature of the entry without this member, which is the last one: Ed25519 (RFC 8032) in Base64. The guide describes the signed bytes.",
    ),
});

/** `/status.json`. */
export const status = z.object({
  head: z
    .object({
      publication: z.int().positive(),
      snapshot: z.string(),
      session_utc: instant,
      revision: z.int().positive(),
      published_at: instant.describe("When it was published, or rolled back to."),
    })
    .nullable()
    .describe("The snapshot that is served; null: none."),
  overdue: count.describe("Sessions that should have been published and are not."),
  next_session_utc: instant.nullable().describe("The session after the one served."),
  sessions: z
    .array(
      z.object({
        session_utc: instant,
        published_at: instant.nullable().describe("When it was first published; null: never."),
        minutes_late: z
          .number()
          .nonnegative()
          .nullable()
          .describe("From the session's start to published_at, with one decimal."),
        missed: z
          .boolean()
          .describe("It was never published, and a later one was or its grace period is over."),
        revised: z.boolean().describe("It was published more than once."),
        rolled_back: z
          .boolean()
          .describe("It was published, and withdrawn by a rollback to an older session."),
        snapshot: snapshotName("The snapshot that stands for it"),
      }),
    )
    .describe("The last 60, newest first, from the first one ever published to the present one."),
});

/** `/openapi.json`. */
export const openApi = z.looseObject({ openapi: z.string() });

/** `/healthz`. */
export const health = z.object({ status: z.literal("ok") });

/** `/readyz`, while it answers with 200. */
export const readiness = z.object({
  status: z.literal("ready"),
  snapshot: z.string(),
  session_utc: instant,
  publication: z.int().positive(),
  damaged: z
    .object({ publication: z.int().positive(), snapshot: z.string() })
    .nullable()
    .describe("The newest publication, where it cannot be loaded: `snapshot` is served instead."),
  attribution: z.string(),
  overdue: count.describe("Sessions that should have been published and are not."),
  clock: z
    .enum(["ok", "behind"])
    .describe("Whether the clock has reached the session served; if not, one of the two is wrong."),
  state: z
    .enum(["ok", "unavailable", "readonly", "evicting"])
    .describe(
      "Accounts, keys and counts. readonly: they take no writes, and calls are counted later. evicting: their Redis may drop them.",
    ),
  store: z
    .enum(["ok", "damaged", "unreachable", "lost"])
    .describe(
      "Whether the newest publication could be loaded; if not, the one before is served. lost: the store is not the one that was served before.",
    ),
});

const lastLevel = z.iso
  .date()
  .nullable()
  .optional()
  .describe("With not_on_board: the date of the last level; null: there is none so far.");
const delistedOn = z.iso
  .date()
  .optional()
  .describe("With not_on_board: the date from which on the contract is delisted.");
const didYouMean = z.array(z.string()).max(3).optional();

/** A problem document (RFC 9457). src/public/problems.ts lists the codes. */
export const problem = (codes: readonly [string, ...string[]]) =>
  z.object({
    type: z.string().describe("The problem's entry on the documentation page."),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string(),
    code: z.enum(codes),
    required_tier: z.enum(KEY_TIER_NAMES).optional().describe("With tier_required."),
    as_of: lastLevel,
    delisted_on: delistedOn,
    did_you_mean: didYouMean.describe(
      "With unknown_contract and unknown_index of an address: ids that are near.",
    ),
    plans: z
      .string()
      .optional()
      .describe("With tier_required, key_required and quota_exceeded: the page of tiers."),
    history_from: z.iso
      .date()
      .optional()
      .describe("With refusals by depth: the first date within the tier's history."),
    resets_at: instant
      .optional()
      .describe("With quota_exceeded: when counting starts again, the 1st of next month."),
    errors: z
      .array(
        z.object({
          parameter: z.string(),
          value: z.string(),
          detail: z.string(),
          as_of: lastLevel,
          delisted_on: delistedOn,
          did_you_mean: didYouMean,
        }),
      )
      .optional()
      .describe("Faults of parameters, all of them."),
    request_id: z
      .string()
      .describe("The same as x-request-id; name it when you ask the operator about this answer."),
  });
