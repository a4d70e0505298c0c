/**
 * All that `answer` needs besides the request: the service's data, its callers and the host. A host makes one world
 * and keeps it. Functions of the world that read the store or the state may reject; lib/errors.ts has their
 * errors.
 */
import type { Clock } from "../lib/clock.ts";
import type { Place, Turns } from "../lib/turns.ts";
import type { Contract } from "../market/contract.ts";
import type { Tier } from "../market/tier.ts";
import type { Accounts } from "../ports/accounts.ts";
import type { Observer } from "../ports/observer.ts";
import type { Platform } from "../ports/platform.ts";
import type { Denial } from "../public/problems.ts";
import type { BasketFile } from "../render/basket-file.ts";
import type { CloseCounts } from "../public/payload-schemas.ts";
import type { Entry, Publication, StoredEntry } from "../snapshot/log/entry.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { SnapshotName } from "../store/paths.ts";
import type { Asked, Outcome } from "./outcome.ts";
import type { Forms } from "./serve/entity.ts";
import type { SnapshotStamp } from "./serve/freshness.ts";
import type { PreparedFile } from "./serve/served-file.ts";

/** Values by name. Requests share them, never promises of them. */
interface ValueCache<V> {
  get(name: string): V | undefined;
  set(name: string, value: V): unknown;
}

/** Keeps an answer that was made. */
export type Keep = (forms: Forms) => unknown;

/** By path relative to the snapshot's folder. Undefined: the snapshot has no such file. */
export interface SnapshotFiles {
  get(path: string): PreparedFile | undefined;
}

/** A snapshot's files and their parsed content, in memory or read when somebody asks for them. */
export interface ServedSnapshot extends Pick<Manifest, "tiers"> {
  readonly stamp: SnapshotStamp;
  /** Whether it has indices of the tier. */
  hasIndices(tier: Tier): boolean;
  /** Null: they are not at hand. */
  readonly files: SnapshotFiles | null;
  /** The files, or `busy`. */
  openFiles(): Promise<SnapshotFiles | Denial>;
  /** Its catalog, or `busy`. */
  catalog(place: Place): Promise<readonly Contract[] | Denial>;
  /** How many closes each contract has, by its id; none in snapshots of older versions. Or `busy`. */
  closes(place: Place): Promise<ReadonlyMap<string, CloseCounts> | Denial>;
  /** What baskets of the tier are priced from, or `busy`. */
  baskets(tier: Tier, place: Place): Promise<BasketFile | Denial>;
}

/** The snapshot that is served: verified, and ready to answer from at once. */
export interface LiveSnapshot
  extends
    ServedSnapshot,
    Pick<Manifest, "judgements" | "options" | "attribution" | "carried" | "movement"> {
  readonly publication: Publication;
  /** Recent baskets and small selections, by tier, address, parameters and number of overdue sessions. */
  readonly computed: ValueCache<Forms>;
  readonly files: SnapshotFiles & { has(path: string): boolean };
  /** The free slice, in catalog order. */
  readonly free: readonly Contract[];
}

/** The newest publication that can be served. A request reads `current` once, so each answer is of one snapshot. */
export interface Head<S extends LiveSnapshot = LiveSnapshot> {
  /** Null: none is loaded so far. */
  readonly current: S | null;
  /** Why the newest publication is not the one served. */
  readonly trouble: { readonly kind: "damaged" | "unreachable" | "lost" } | null;
  /** The newest publication known, served or not; null: none is known. */
  readonly newest: Publication | null;
}

/** The log as it is known here. */
export interface LogView {
  /** The number of the newest entry; 0: none. */
  readonly newestNumber: number;
  /** The entries, oldest first, without those that are damaged. */
  readonly entries: readonly Entry[];
  /** The newest publish or rollback. */
  readonly head: Publication | null;
  /** An entry up to the newest one. Throws DamageError if it is damaged. */
  get(number: number): StoredEntry;
  /** Whether an entry up to this number made the snapshot (`2026-11-20T12Z/r1`) the head. */
  isPublishedBy(snapshot: string, number: number): boolean;
  /** Whether a prune took the snapshot. Its name is never used again. */
  isPruned(name: SnapshotName): boolean;
  /** Reads on. Returns why it could not, or differs; null: it is whole. */
  follow(): Promise<Error | null>;
}

/** Old snapshots. */
export interface OldSnapshots {
  /** The snapshot as the publication made it the head, or `busy`. */
  open(publication: Publication, place: Place): Promise<ServedSnapshot | Denial>;
}

/** The pages for people, by path template, and the page that tells of a refusal. */
export interface Pages {
  readonly answers: ReadonlyMap<string, (asked: Asked, place: Place) => Outcome | Promise<Outcome>>;
  /** Null: no page is so deep. */
  problem(denial: Denial, path: string, requestId: string): Uint8Array | null;
}

/** How a service is set up. */
interface Settings {
  /** `https://host/prefix`; null: nobody said, and addresses in answers are relative. */
  readonly publicUrl?: string | null;
  /** The public address, or else the one at which the host listens. */
  readonly origin: string;
  /** How often the host looks for a new publication; the retry-after while there is none. */
  readonly pollMs: number;
  /** How late a session may be before it counts as missing. */
  readonly graceMs: number;
  /** The public keys of which one must have signed the log as far as it is served (PEM); null: nobody must. */
  readonly logKeysPem: string | null;
  /** How many proxies of the operator are in front; their X-Forwarded-For is trusted. */
  readonly trustedHops: number;
}

/** What the data of answers comes from. */
export interface DataSources extends Pick<Settings, "publicUrl" | "pollMs"> {
  readonly live: Head;
  readonly log: LogView;
  readonly archive: OldSnapshots;
  readonly observer: Observer;
  readonly platform: Platform;
}

export interface World extends DataSources, Settings {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Work waits in it. */
  readonly turns: Pick<Turns, "placeOf" | "later">;
  readonly pages: Pages;
}
